"""The rules of a reset-based experiment, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracking_parts.errors import ConfigError

InitBox = Literal["area", "enclosing"]


@dataclass(frozen=True, slots=True)
class ResetProtocol:
    """VOT's supervised experiment: a tracker that lost the object is started again a little later.

    ``init_box`` says which upright box a tracker gets for a rotated ground-truth polygon: ``enclosing`` holds all of it
    and, around a slanted object, mostly background; ``area`` has the same proportions and the polygon's area, around
    the polygon's centre. All trackers of a run get the same one.
    """

    name: str = "vot2016"
    failure_overlap: float = 0.0  # a failure is an overlap of at most this
    skip: int = 5  # frames from a failure to the restart
    burn_in: int = 10  # frames from a start that do not count for accuracy
    eao_interval: tuple[int, int] = (108, 371)  # typical short-term lengths of the data set
    init_box: InitBox = "area"

    def __post_init__(self) -> None:
        if self.skip < 1 or self.burn_in < 0:
            raise ConfigError(f"protocol {self.name}: skip must be at least 1 and burn_in at least 0")
        low, high = self.eao_interval
        if not 2 <= low <= high:
            raise ConfigError(
                f"protocol {self.name}: the EAO interval {low}..{high} must start at 2 or later and not be empty"
            )


VOT2016 = ResetProtocol()
VOT2017 = ResetProtocol(name="vot2017", eao_interval=(100, 356))
PROTOCOLS = {protocol.name: protocol for protocol in (VOT2016, VOT2017)}


def find_protocol(name: str) -> ResetProtocol:
    """The protocol of that name, or a :class:`ConfigError` that lists the known ones."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise ConfigError(f"unknown protocol {name!r}: choose one of {', '.join(PROTOCOLS)}") from None
