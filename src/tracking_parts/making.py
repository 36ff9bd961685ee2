"""What a tracker is made with, checked before anything is built of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tracking_parts.config import TrackerConfig
from tracking_parts.errors import ConfigError, WeightsError, quoted, shortened
from tracking_parts.vgg import layers_up_to

MOST_SEED = 2**63 - 1  # what torch's generators take


def checked_config(config: Any) -> TrackerConfig:
    """Settings, or a profile by its name."""
    if isinstance(config, TrackerConfig):
        return config
    if isinstance(config, str):
        return TrackerConfig.profile(config)
    hint = ": use TrackerConfig.from_dict" if isinstance(config, Mapping) else ""
    raise ConfigError(f"settings are a TrackerConfig or a profile's name, not {quoted(config)}{hint}")


def checked_device(name: Any) -> torch.device:
    """A device that torch can use here; torch's own complaints run over many lines."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError, NotImplementedError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise ConfigError(f"the device {name!r} cannot be used here: {shortened(reason)}") from None
    return device


def checked_seed(seed: Any) -> int:
    """A whole number that every generator takes."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= int(seed) <= MOST_SEED:
        raise ConfigError(f"a seed is a whole number from 0 to 2**63 - 1, not {quoted(seed)}")
    return int(seed)


def checked_weights(weights: Any, taps: Sequence[str]) -> dict[str, Tensor]:
    """Weights of every layer up to the deepest tap."""
    if not isinstance(weights, Mapping):
        raise WeightsError(f"weights are tensors by their names, not {quoted(weights)}")
    for layer in layers_up_to(taps):
        for name in (f"{layer.name}.weight", f"{layer.name}.bias"):
            if not isinstance(weights.get(name), Tensor):
                raise WeightsError(f"the weights lack {name}")
    return dict(weights)
