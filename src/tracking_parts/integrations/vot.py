"""The tracker as a TraX server, which is how VOT's toolkit talks to trackers: ``stp vot serve``.

The toolkit starts the command of its ``trackers.ini``, sends the name of an image with a region, then one image after
the other, and gets a region and the property ``confidence`` for each. It starts the tracker again in the same way after
a failure. TraX runs over stdin and stdout: nothing here prints.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal, Protocol, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import ConfigError, FormatError, SourceError
from tracking_parts.evaluation.experiment import start_box
from tracking_parts.evaluation.protocol import InitBox
from tracking_parts.geometry import Box, Polygon
from tracking_parts.result import Result

Image = NDArray[np.uint8]
RegionKind = Literal["same", "polygon", "rectangle"]

MISSING = "TraX is not installed: pip install 'tracking-parts[vot]'"


class ServedTracker(Protocol):
    """What a TraX server needs of a tracker."""

    def init(self, frame: Image, box: Box) -> Result: ...

    def update(self, frame: Image) -> Result: ...


def serve(tracker: ServedTracker, label: str = "stp", region: RegionKind = "same", init_box: InitBox = "area") -> None:
    """Answer a TraX client over stdin and stdout until it says goodbye. See :func:`answer_requests`."""
    check_choices(region, init_box)
    trax = import_trax()
    server = trax.Server(
        [trax.Region.RECTANGLE, trax.Region.POLYGON],
        [trax.Image.PATH, trax.Image.MEMORY, trax.Image.BUFFER],
        tracker_name=label,
        tracker_description="Society of Tracking Parts",
    )
    try:
        answer_requests(server, tracker, region, init_box)
    except trax.TraxException as error:
        raise SourceError(f"the TraX client is gone: {error}") from error
    except Exception as error:
        server.quit(reason=str(error))  # the toolkit's log then says why
        raise
    server.quit()


def check_choices(region: str, init_box: str) -> None:
    for name, value, choices in (("region", region, get_args(RegionKind)), ("init_box", init_box, get_args(InitBox))):
        if value not in choices:
            raise ConfigError(f"{name} is {value!r}: choose one of {', '.join(choices)}")


def import_trax() -> Any:
    try:
        return importlib.import_module("trax")
    except ModuleNotFoundError as error:
        raise ConfigError(MISSING) from error


def answer_requests(server: Any, tracker: ServedTracker, region: RegionKind, init_box: InitBox) -> None:
    """Serve starts and frames until the client ends the session.

    ``region`` is the kind of the answers; ``same`` answers in the kind of the region that was given at the start. That
    is fair to the pixel: the toolkit counts a polygon's border pixels on all its sides, a rectangle's on two.
    ``init_box`` is the upright box made of a slanted polygon, as in :mod:`tracking_parts.evaluation.protocol`.
    """
    status = import_trax().TraxStatus
    kind = region
    while True:
        request = server.wait()
        if request.type == status.INITIALIZE:
            given = the_only(request.objects)
            kind = given.type if region == "same" else region
            result = tracker.init(read_image(request.image), box_from_region(given, init_box))
        elif request.type == status.FRAME:
            result = tracker.update(read_image(request.image))
        else:
            return
        server.status([(region_from_result(result, kind), {"confidence": f"{result.confidence:.6f}"})])


def the_only(objects: list[tuple[Any, Mapping[str, str]]]) -> Any:
    """The region of a list of one: we follow one object at a time, and tell the client so."""
    if len(objects) != 1:
        raise FormatError(f"the client wants {len(objects)} objects followed at once: this tracker follows one")
    return objects[0][0]


def read_image(images: Mapping[str, Any]) -> Image:
    """The colour channel as BGR, whether it came as a file's name, as pixels (RGB) or as an encoded picture."""
    trax = import_trax()
    image = images.get(trax.ImageChannel.COLOR)
    if image is None:
        raise FormatError(f"the client sent no colour image, but {', '.join(images) or 'none at all'}")
    if image.type() == trax.Image.MEMORY:
        pixels: Image = image.array()
        return np.ascontiguousarray(pixels[:, :, ::-1])
    if image.type() == trax.Image.BUFFER:
        name, decoded = "buffer", cv2.imdecode(np.frombuffer(image.buffer(), np.uint8), cv2.IMREAD_COLOR)
    else:
        name, decoded = image.path(), cv2.imread(image.path(), cv2.IMREAD_COLOR)
    if decoded is None:
        raise SourceError(f"the client's image cannot be read: {name}")
    return np.asarray(decoded, dtype=np.uint8)


def box_from_region(region: Any, init_box: InitBox) -> Box:
    """The upright box to start from; TraX's coordinates are ours, (0, 0) is the image's top-left corner."""
    trax = import_trax()
    if region.type == trax.Region.RECTANGLE:
        return Box(*region.bounds())
    if region.type != trax.Region.POLYGON:
        raise FormatError(f"cannot start from a region of kind {region.type!r}")
    corners = list(region)
    if len(corners) == 4:
        return start_box((corners[0], corners[1], corners[2], corners[3]), init_box)
    return Box.around(np.array(corners))  # the outline of a mask, say: no parallelogram whose area would mean a box


def region_from_result(result: Result, kind: str) -> Any:
    trax = import_trax()
    if kind == trax.Region.RECTANGLE:
        return trax.Rectangle.create(*result.box.xywh)
    corners: Polygon = result.polygon
    return trax.Polygon.create([(float(x), float(y)) for x, y in corners])
