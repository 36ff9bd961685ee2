"""The Society of Tracking Parts: :meth:`Tracker.follow` is the paper's algorithm, one named call per step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from tracking_parts.box_estimation import Shape
from tracking_parts.camera import Camera, SmallPicture, small_picture
from tracking_parts.confident_frames import ConfidentFrames, confidence_rule
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part import View, build_pathway
from tracking_parts.convnet_part.background import BackgroundUpdates
from tracking_parts.convnet_part.updating import SequentialUpdates
from tracking_parts.deciding import Votes, decide
from tracking_parts.errors import CopyError, InvalidFrameError, NotInitialisedError
from tracking_parts.features import FeatureExtractor, Projection, each_alone
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.frames import Frame, Glance, Reach, as_bgr, as_box
from tracking_parts.geometry import Box
from tracking_parts.io.weights import load_weights
from tracking_parts.learning import Learner
from tracking_parts.light_weights import trunk_weights
from tracking_parts.looking import search_window
from tracking_parts.looking_again import look_again
from tracking_parts.making import checked_config, checked_device, checked_seed, checked_weights
from tracking_parts.result import Result, State
from tracking_parts.spare_memory import give_back_memory, keep_large_blocks_apart
from tracking_parts.state_checks import check_state
from tracking_parts.step import Reading, Step, build_trace, first_reading, told_reading
from tracking_parts.target import Target
from tracking_parts.telling import told_polygon
from tracking_parts.threads import OneAtATime, others_are_idle, side_by_side, threads_after_fork, with_idle_hands
from tracking_parts.trace import FrameTrace
from tracking_parts.tracker_state import (
    TrackerState,
    damaged_state_errors,
    pack_target,
    restore_target,
    unpack_projections,
    unpack_shape,
)
from tracking_parts.trunk_engines import Maps
from tracking_parts.vgg import vgg_layer
from tracking_parts.voting import Peaks, VoteMap


class Tracker:
    """Follows one object, given its box in one frame.

    Deterministic for a seed on one device and thread count, except with ``update="parallel"``.
    """

    def __init__(
        self,
        config: TrackerConfig | str = "default",
        *,
        device: str | torch.device = "cpu",
        seed: int = 0,
        weights: dict[str, Tensor] | None = None,
        engine: str = "auto",
    ) -> None:
        threads_after_fork()
        keep_large_blocks_apart()
        self.config = checked_config(config)
        self.device = checked_device(device)
        self.seed = checked_seed(seed)
        # The trunk goes no deeper than what is heard.
        self._convnet_tap = self.config.convnet_tap if self.config.convnet_learns else self.config.tap
        taps = dict.fromkeys((self.config.tap, self._convnet_tap))
        self._weights = load_weights() if weights is None else checked_weights(weights, tuple(taps))
        frozen = trunk_weights(self._weights, self.config.trunk)
        self._extract = FeatureExtractor(frozen, tuple(taps), self.device, engine)
        self._extract.expect_batches()  # the first frame as it might look later, and looks for another size
        self.engine = self._extract.engine.name  # the one that was found: torch or ncnn
        self._stride = vgg_layer(self.config.tap).stride
        self._learner = Learner(self.config)
        self._target: Target | None = None
        self._last: Step | None = None
        self._turn = OneAtATime()

    # ------------------------------------------------------------------ the public face
    def init(self, frame: ArrayLike, box: Box | ArrayLike) -> Result:
        """Start afresh on the object in ``box`` (x, y, width, height in pixels) of a BGR frame."""
        image = as_bgr(frame)
        first_box = as_box(box, image)
        with self._turn:
            self.close()
            target, view = self._start(image, first_box)
            result = self._remember_first(target, view)
            self._target = target
            return result

    def update(self, frame: ArrayLike) -> Result:
        """Find the object in the next frame, then learn from it."""
        with self._turn:
            glance = self.aim(frame)
            return self.follow(glance, self._extract([glance.crop]))

    def correct(self, frame: ArrayLike, box: Box | ArrayLike) -> Result:
        """Put the object into ``box`` of the frame that :meth:`update` saw last, and learn that it is there.

        All that was learned before is kept, other than by :meth:`init`; the next :meth:`update` goes on from here.
        """
        with self._turn:
            target = self._require_target()
            image = self._next_image(frame, target)
            target.place(as_box(box, image), self.config)
            reading = self._read_at(image, target, Reach.USUAL)
            centre_in_map = reading.view.window.map_from_image(target.centre)
            reading = told_reading(reading, centre_in_map, self.config.agreement_radius)
            events = self._learner.learn_confirmed(target, reading)
            result = self._result(target, reading)
            self._last = Step(reading, result, True, tuple(events))
            return result

    def aim(self, frame: ArrayLike, picture: SmallPicture | None = None) -> Glance:
        """Where :meth:`update` looks for the object in the next frame; nothing changes yet.

        ``picture`` is the frame's :func:`small_picture`, where somebody has made it already.
        """
        target = self._require_target()
        image = self._next_image(frame, target)
        lost = target.monitor.state is State.LOST
        reach = target.gaze.next_reach(lost, self._learner.is_due(target), self.config)
        if target.camera is None:
            return self._look(image, target, reach)
        scene = target.camera.sees(small_picture(image) if picture is None else picture, image.shape)
        carried = replace(target, centre=target.carried_centre(scene))
        return replace(self._look(image, carried, reach), scene=scene)

    def follow(self, glance: Glance, maps: Maps) -> Result:
        """:meth:`update` from the network's maps of what :meth:`aim` gave, whoever computed them."""
        target = self._require_target()
        target.frame_index += 1
        last_centre, target.centre = target.centre, target.carried_centre(glance.scene)
        reading = self._read(self._view(glance, target, maps), target)
        reading, looked_again = look_again(target, reading, self._read_at, self._read_all, self.config)

        certainty, reach = reading.certainty, reading.view.reach
        target.monitor = target.monitor.after(certainty, self.config)
        target.gaze = target.gaze.after(reach, not looked_again and target.is_steady(reading, self.config))
        self._move(target, reading)
        result = self._result(target, reading)
        found = certainty >= self.config.hold_below and self._learner.may_learn(target, reading)
        target.observe_camera(glance.scene, last_centre, found)
        highly_confident, events = self._learner.learn(target, reading)
        self._last = Step(reading, result, highly_confident, (*looked_again, *events))
        give_back_memory(target.frame_index)
        return result

    def _read(self, view: View, target: Target) -> Reading:
        """What everybody makes of one look, and every part's own vote, side by side; then the decision."""
        tasks: list[Callable[[], Any]] = [
            *(partial(self._hear_parts, hearing) for hearing in target.parts.hearings(view.features)),
            partial(self._vote_parts, view, target),
            partial(self._vote_convnet, view, target),
            partial(self._vote_colours, view, target),
        ]
        *heard, filter_map, convnet_map, colour_map = side_by_side(tasks)  # …, F_t, C_t, H_t
        return self._decide(view, Votes(filter_map, convnet_map, colour_map, target.parts.gather(heard)), target)  # P_t

    def _read_at(self, image: Frame, target: Target, reach: Reach) -> Reading:
        glance = self._look(image, target, reach)
        return self._read(self._view(glance, target, self._extract([glance.crop])), target)

    def _read_all(self, looks: Sequence[Callable[[], Reading]]) -> list[Reading]:
        """Several looks, each by a thread of its own if there are idle ones: nobody then waits at every layer's end."""
        if not others_are_idle():
            return with_idle_hands(looks)
        with self._extract.engine.side_by_side() as can_be:
            return side_by_side(looks) if can_be else [look() for look in looks]

    @property
    def extract(self) -> FeatureExtractor:
        """The frozen network, shared by :meth:`another`."""
        return self._extract

    @property
    def trace(self) -> FrameTrace:
        """What happened in the last frame."""
        target = self._require_target()
        if self._last is None:
            raise NotInitialisedError("there is no trace yet: the tracker was resumed and has seen no frame since")
        return build_trace(target.frame_index, self._last, target.shape.box(target.centre))

    def state(self) -> TrackerState:
        """All that is needed to go on later, here or elsewhere; see :meth:`from_state`.

        A training still running in the background is waited for.
        """
        values, tensors = pack_target(self._require_target())
        return TrackerState({"config": self.config.to_dict(), "seed": self.seed, **values}, tensors)

    @classmethod
    def from_state(
        cls,
        state: TrackerState | str | Path,
        *,
        device: str | torch.device = "cpu",
        weights: dict[str, Tensor] | None = None,
        engine: str = "auto",
    ) -> Tracker:
        """A tracker that goes on where :meth:`state` was taken: the same boxes as if it had never stopped."""
        state = state if isinstance(state, TrackerState) else TrackerState.load(state)
        with damaged_state_errors():
            config, seed = TrackerConfig.from_dict(state.values["config"]), int(state.values["seed"])
            check_state(state.values, state.tensors, config)
        tracker = cls(config, device=device, seed=seed, weights=weights, engine=engine)
        with damaged_state_errors():
            target = tracker._empty_target(
                tuple(state.values["frame_shape"]),
                unpack_shape(state.values["shape"]),
                unpack_projections(state, tracker.device),
            )
            restore_target(target, state, tracker.device)
        tracker._target = target
        return tracker

    def save(self, path: str | Path) -> None:
        """Write :meth:`state` to one safetensors file."""
        self.state().save(path)

    @classmethod
    def load(cls, path: str | Path, *, device: str | torch.device = "cpu", engine: str = "auto") -> Tracker:
        """Go on from a file that :meth:`save` wrote."""
        return cls.from_state(path, device=device, engine=engine)

    def another(self) -> Tracker:
        """A tracker with the same settings and the same network in memory, for another object."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._target, other._last, other._turn = None, None, OneAtATime()
        return other

    def __reduce__(self) -> NoReturn:
        raise CopyError(
            "a tracker cannot be copied or pickled, as its network cannot: take its state() where there is one, and "
            "make another tracker from it by Tracker.from_state()"
        )

    def close(self) -> None:
        """Forget the object and end any training in the background."""
        if self._target is not None:
            self._target.updates.close()
        self._target, self._last = None, None

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ the first frame
    def _start(self, image: Frame, box: Box) -> tuple[Target, View]:
        """What is known before anything is learned: the place, the channels worth keeping, and the first view."""
        config = self.config
        window = search_window(box.centre, (box.w, box.h), 1.0, Reach.USUAL, config, self._stride)
        glance = Glance.at(image, window)
        first_maps = self._extract([glance.crop])
        projections = {
            "parts": Projection.fit(first_maps[config.tap], config.channels, config.cell_damping),
            "convnet": Projection.fit(first_maps[self._convnet_tap], config.convnet_channels, config.cell_damping),
        }
        target = self._empty_target(image.shape, Shape(box.w, box.h), projections)
        target.centre = box.centre
        target.camera = Camera(small_picture(image)) if config.mind_camera else None
        return target, self._view(glance, target, first_maps)

    def _empty_target(self, frame_shape: tuple[int, ...], shape: Shape, projections: dict[str, Projection]) -> Target:
        """A target nothing has been learned about yet."""
        config = self.config
        return Target(
            frame_shape=frame_shape,
            shape=shape,
            projections=projections,
            parts=FilterParts(config),
            convnet=build_pathway(config, self._weights, projections["convnet"].axes.shape[0], self.device, self.seed),
            memory=ConfidentFrames(config.update, max(1, config.first_frames), config.n_frames, self.seed),
            rule=confidence_rule(config),
            updates=BackgroundUpdates() if config.update == "parallel" else SequentialUpdates(config.update_frames),
        )

    def _remember_first(self, target: Target, view: View) -> Result:
        """Learn from the first view, in which nobody votes: the answer is the box that was given."""
        box_in_map = view.window.box_in_map(target.shape.box(target.centre))
        events = self._learner.learn_first(target, view, box_in_map, partial(self._views, view, target))
        reading = first_reading(view, box_in_map.centre)
        result = self._result(target, reading)
        self._last = Step(reading, result, False, tuple(events))
        return result

    # ------------------------------------------------------------------ looking and deciding
    def _next_image(self, frame: ArrayLike, target: Target) -> Frame:
        image = as_bgr(frame)
        if image.shape != target.frame_shape:
            wanted, got = target.frame_shape, image.shape
            raise InvalidFrameError(
                f"the frame is {got[1]}x{got[0]} pixels, the first one was {wanted[1]}x{wanted[0]}: call init again"
            )
        return image

    def _look(self, image: Frame, target: Target, reach: Reach) -> Glance:
        """Crop around the last centre."""
        first_size = (target.shape.first_width, target.shape.first_height)
        window = search_window(target.centre, first_size, target.shape.scale, reach, self.config, self._stride)
        return Glance.at(image, window, reach)

    def _view(self, glance: Glance, target: Target, maps: Maps) -> View:
        """The channels worth keeping of the maps of one crop, [1, c, h, w]."""
        features = target.projections["parts"](maps[self.config.tap])[0]
        convnet_features = target.projections["convnet"](maps[self._convnet_tap])[0]
        return View(glance.frame, glance.window, glance.crop, features, convnet_features, glance.reach)

    def _views(self, view: View, target: Target, crops: Sequence[Frame]) -> list[View]:
        """Other crops in the window of a view, all in one batch."""
        maps = each_alone(self._extract(crops))
        glances = [Glance(view.frame, view.window, crop) for crop in crops]
        return [self._view(glance, target, its_maps) for glance, its_maps in zip(glances, maps, strict=True)]

    def _vote_parts(self, view: View, target: Target) -> Tensor:
        return target.parts.vote(view.features)

    def _hear_parts(self, hearing: Callable[[], list[Peaks]]) -> list[Peaks]:
        return hearing()

    def _vote_convnet(self, view: View, target: Target) -> Tensor | None:
        return target.convnet.vote(view) if target.convnet_votes else None

    def _vote_colours(self, view: View, target: Target) -> VoteMap | None:
        return target.colour_votes(view)

    def _decide(self, view: View, votes: Votes, target: Target) -> Reading:
        return decide(view, votes, target, self.config)

    def _move(self, target: Target, reading: Reading) -> None:
        target.move(reading, self.config, reshape=self._learner.may_learn(target, reading))

    def _result(self, target: Target, reading: Reading) -> Result:
        polygon = told_polygon(target, reading, self.config)
        return Result(Box.around(polygon), polygon, reading.certainty, target.monitor.state)

    def _require_target(self) -> Target:
        if self._target is None:
            raise NotInitialisedError("the tracker has no object yet: call init with a frame and a box before update")
        return self._target
