"""Training by Adam on shifted crops (paper, section 3.2, "Technical details"): end to end or the last layers only."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part.augmentation import augment
from tracking_parts.convnet_part.frozen import OnFrozenFeatures
from tracking_parts.convnet_part.net import CentreHead, ConvNet, circle_stamp
from tracking_parts.convnet_part.pathway import Look, Progress, Trainable, View
from tracking_parts.features import rgb_batch
from tracking_parts.frames import cut_crop
from tracking_parts.geometry import CropWindow, Point
from tracking_parts.vgg import vgg_layer

Pair = tuple[Tensor, Tensor]  # input and target, each with a leading batch axis


class _AdamPathway(Trainable):
    """What both share: seeded shifts, k epochs of Adam on the mean squared error against a circle stamp."""

    def __init__(self, config: TrackerConfig, net: nn.Module, device: torch.device, seed: int) -> None:
        self._config = config
        self._net = net.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._device = device
        self._seed = seed
        self._trainings = 0
        self._random = np.random.default_rng(seed)

    def training(
        self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool
    ) -> Iterator[Progress]:
        """k epochs of Adam over two randomly shifted pairs per frame, a batch at a time; the loss is the epoch's mean
        so far.
        """
        # A generator per training, so that a resumed tracker draws what it would have drawn.
        self._random = np.random.default_rng([self._seed, self._trainings])
        self._trainings += 1
        inputs, targets = self._shifted_pairs([*first, *recent])
        optimiser = torch.optim.Adam(self._net.parameters(), lr=self._config.learning_rate)
        for epoch in range(self._config.epochs):
            order = torch.as_tensor(self._random.permutation(len(targets)), device=inputs.device)
            batches = torch.split(order, self._config.batch_size)
            losses = []
            for number, batch in enumerate(batches, start=1):
                losses.append(self._step(optimiser, inputs[batch], targets[batch]))
                yield Progress((epoch + number / len(batches)) / self._config.epochs, torch.stack(losses).mean())

    def _step(self, optimiser: torch.optim.Optimizer, inputs: Tensor, targets: Tensor) -> Tensor:
        self._net.train()
        optimiser.zero_grad(set_to_none=True)
        error = nn.functional.mse_loss(self._net(inputs.to(self._device)), targets.to(self._device))
        error.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        self._net.eval()
        return error.detach()

    def _shifted_pairs(self, frames: Sequence[TrainingFrame]) -> Pair:
        pairs = [self._shifted_pair(frame) for frame in frames for _ in range(self._config.shifts_per_frame)]
        inputs = torch.cat([pair[0] for pair in pairs])  # pictures on the CPU, or features on the device
        return inputs, torch.cat([pair[1] for pair in pairs]).to(inputs.device)

    def _shifted_pair(self, frame: TrainingFrame) -> Pair:
        raise NotImplementedError

    def _stamp(self, frame: TrainingFrame, shape: tuple[int, int], centre: Point) -> Tensor:
        width, height = frame.object_in_map
        return circle_stamp(shape, centre, self._config.stamp_radius * (width * height) ** 0.5)

    def _random_shift(self, limit: int) -> tuple[int, int]:
        rows, columns = self._random.integers(0, 2 * limit + 1, size=2)
        return int(rows), int(columns)

    def learned(self) -> Iterable[Tensor]:
        return list(self._net.parameters())

    def tensors(self) -> dict[str, Tensor]:
        learned = {f"net.{name}": tensor.detach().cpu().clone() for name, tensor in self._net.state_dict().items()}
        return {**learned, "trainings": torch.tensor(self._trainings)}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        self._net.load_state_dict({n.removeprefix("net."): t for n, t in tensors.items() if n.startswith("net.")})
        self._trainings = int(tensors["trainings"])


class EndToEnd(_AdamPathway):
    """The paper's ConvNetPart: its own trunk learns too. Starts from the ImageNet weights."""

    def __init__(self, config: TrackerConfig, weights: Mapping[str, Tensor], device: torch.device, seed: int) -> None:
        with _seeded(seed):
            net = ConvNet(config.convnet_tap)
        net.trunk.load(weights)
        super().__init__(config, net, device, seed)
        self._stride = vgg_layer(config.convnet_tap).stride

    def clone(self) -> EndToEnd:
        return copy.deepcopy(self)

    @torch.inference_mode()
    def vote(self, view: View) -> Tensor:
        centre_map: Tensor = self._net(rgb_batch([view.crop], self._device))
        return view.on_shared_grid(centre_map[0])

    def sample(self, view: View, centre: Point, object_in_map: tuple[float, float], frame_index: int) -> TrainingFrame:
        """Keeps a wider crop than the network sees, so that it can be shifted later."""
        window, object_size = view.window, view.convnet_size(object_in_map)
        margin = self._room(object_size)
        extra_x, extra_y = (round(margin / zoom) for zoom in window.zoom)
        wide = CropWindow(
            left=window.left - extra_x,
            top=window.top - extra_y,
            width=window.width + 2 * extra_x,
            height=window.height + 2 * extra_y,
            crop_width=window.crop_width + 2 * margin,
            crop_height=window.crop_height + 2 * margin,
            stride=self._stride,
        )
        centre_in_wide = wide.map_from_image(view.window.image_from_map(centre))
        picture = cut_crop(view.frame, wide)
        return TrainingFrame(frame_index, centre_in_wide, object_size, picture, None)

    def variants(
        self, view: View, centre: Point, object_in_map: tuple[float, float], look: Look
    ) -> list[TrainingFrame]:
        kept = self.sample(view, centre, object_in_map, 0)
        assert kept.picture is not None
        x, y = kept.centre_in_map
        pictures = augment(kept.picture, ((x + 0.5) * self._stride, (y + 0.5) * self._stride))
        return [replace(kept, picture=picture) for picture in pictures]

    def _shifted_pair(self, frame: TrainingFrame) -> Pair:
        assert frame.picture is not None
        room = self._room(frame.object_in_map)
        top, left = self._random_shift(room)
        height, width = (side - 2 * room for side in frame.picture.shape[:2])
        crop = frame.picture[top : top + height, left : left + width]
        centre = (frame.centre_in_map[0] - left / self._stride, frame.centre_in_map[1] - top / self._stride)
        stamp = self._stamp(frame, (height // self._stride, width // self._stride), centre)
        return rgb_batch([crop], torch.device("cpu")), stamp[None]

    def _room(self, object_in_map: tuple[float, float]) -> int:
        """The largest shift, in crop pixels: whole cells."""
        cells = self._config.max_shift * math.sqrt(math.prod(object_in_map))
        return max(1, round(cells)) * self._stride


class FrozenTrunk(OnFrozenFeatures, _AdamPathway):
    """The same four last layers on the shared, frozen features: activations are cached, a shift is a slice."""

    def __init__(self, config: TrackerConfig, channels: int, device: torch.device, seed: int) -> None:
        with _seeded(seed):
            head = CentreHead(channels)
        super().__init__(config, head, device, seed)
        self._stride = vgg_layer(config.convnet_tap).stride

    def clone(self) -> FrozenTrunk:
        return copy.deepcopy(self)

    @torch.inference_mode()
    def vote(self, view: View) -> Tensor:
        centre_map: Tensor = self._net(view.convnet_features[None])
        return view.on_shared_grid(centre_map[0])

    def _shifted_pair(self, frame: TrainingFrame) -> Pair:
        assert frame.features is not None
        rows, columns = frame.features.shape[1:]
        # The object has about this size in every frame, so all slices have one size.
        object_cells = self._config.crop_size / self._config.search_factor / self._stride
        room = min(max(round(self._config.max_shift * object_cells), 1), min(rows, columns) // 4)
        top, left = self._random_shift(room)
        kept = (rows - 2 * room, columns - 2 * room)
        features = frame.features[:, top : top + kept[0], left : left + kept[1]].clone()
        centre = (frame.centre_in_map[0] - left, frame.centre_in_map[1] - top)
        return features[None], self._stamp(frame, kept, centre)[None]


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Initialise a net from its own seed, leaving torch's global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
