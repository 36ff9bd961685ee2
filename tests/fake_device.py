"""A pretended GPU: tensors that say they are on another device and are computed on the CPU in truth.

No real GPU ever ran these tests. What is pretended is enough to track whole videos "there", with real values, and keeps
the two rules of a GPU that matter to its caller:

* tensors of two devices do not mix (only scalars of the CPU may join in), and only a copy leads from one to the other;
* reading a value makes the caller wait until the device has computed it. Those moments are counted, by the function
  that asked, and so are the copies to the device.

Speed, memory and the rounding of a GPU's own kernels are not pretended.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

# "cuda" asks for a driver before anything can be pretended. "lazy" is a name that torch knows as a device apart, and
# runs no code for by itself; all that the tracker asks of a device's name is whether it is the CPU.
FAR, CPU = torch.device("lazy", 0), torch.device("cpu")

aten = torch.ops.aten
TRANSFERS = (aten._to_copy.default, aten.copy_.default)
WAITS = {  # their result is a value on the CPU, or has a shape that only the device knows
    aten._linalg_check_errors.default,
    aten._linalg_eigh.default,  # on a GPU it asks whether it converged
    aten._local_scalar_dense.default,
    aten._unique2.default,
    aten.cholesky_inverse.default,  # as above
    aten.equal.default,
    aten.masked_select.default,
    aten.nonzero.default,
    aten.unique_dim.default,
}


class MixedDevicesError(Exception):
    """An operation was given tensors of both devices."""


class FarTensor(Tensor):
    """A tensor on the pretended device; ``near`` holds its values."""

    near: Tensor

    @staticmethod
    def __new__(cls, near: Tensor) -> FarTensor:
        far: FarTensor = Tensor._make_wrapper_subclass(
            cls,
            near.shape,
            strides=near.stride(),
            storage_offset=near.storage_offset(),
            dtype=near.dtype,
            device=FAR,
        )
        far.near = near
        return far

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise RuntimeError(f"{func}: the pretended device is only there inside a FakeDevice")


class FakeDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is active ``device=FAR`` works, in this thread; counts what passes between the device and the CPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.waits: Counter[str] = Counter()  # who read a value of the device
        self.sent: Counter[str] = Counter()  # who copied something to it

    def forget(self) -> None:
        """Count from nought again."""
        self.waits.clear()
        self.sent.clear()

    def __torch_dispatch__(
        self, function: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CompositeImplicitAutograd"):
            with self:  # in inference mode, functions that are made of others arrive whole
                return function.decompose(*args, **named)
        tensors = [value for value in tree_flatten((args, named))[0] if isinstance(value, Tensor)]
        wanted = named.get("device")
        is_far = any(map(_is_far, tensors)) if wanted is None else torch.device(wanted).type == FAR.type
        self._count(function, args, tensors, is_far)
        found = _computed(function, args, {**named, "device": CPU} if "device" in named else named)
        if function._schema.is_mutable:
            return args[0]
        return _sent_away(found, function.is_view and not tensors[0].is_inference()) if is_far else found

    def _count(self, function: Any, args: tuple[Any, ...], tensors: Sequence[Tensor], is_far: bool) -> None:
        if function in TRANSFERS:  # copy_(to, from), _to_copy(from, device=to)
            from_far, to_far = _is_far(tensors[-1]), _is_far(tensors[0]) if len(tensors) == 2 else is_far
            if from_far != to_far:
                (self.sent if to_far else self.waits)[_caller()] += 1
            return
        _check_one_device(function, tensors)
        if any(map(_is_far, tensors)) and (function in WAITS or _has_mask(function, args)):
            self.waits[_caller()] += 1


def _computed(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the function gives for the near tensors."""
    if function is aten._conj.default:  # only a bit would be set on the near tensor, and be overlooked from here on
        function = aten.conj_physical.default
    return function(*tree_map(_near, args), **tree_map(_near, named))


def _sent_away(found: Any, is_view: bool) -> Any:
    """The same with its tensors on the device; in inference mode the view of an ordinary tensor is an ordinary one."""
    with torch.inference_mode(torch.is_inference_mode_enabled() and not is_view):
        return tree_map(lambda value: FarTensor(value) if isinstance(value, Tensor) else value, found)


def _is_far(tensor: Tensor) -> bool:
    return isinstance(tensor, FarTensor)


def _near(value: Any) -> Any:
    return value.near if isinstance(value, FarTensor) else value


def _check_one_device(function: Any, tensors: Sequence[Tensor]) -> None:
    if len({_is_far(tensor) for tensor in tensors if tensor.dim() > 0}) > 1:
        shapes = ", ".join(f"{tuple(tensor.shape)} on {tensor.device}" for tensor in tensors)
        raise MixedDevicesError(f"{function} of {shapes}, in {_caller()}")


def _has_mask(function: Any, args: tuple[Any, ...]) -> bool:
    """Indexing by a mask: how many there are is known to the device only."""
    if function.overloadpacket not in (aten.index, aten.index_put, aten.index_put_):
        return False
    return any(isinstance(index, Tensor) and index.dtype == torch.bool for index in args[1])


def _caller() -> str:
    """The innermost function of the package on the stack, or the outermost of all."""
    frame = sys._getframe()
    while frame.f_back is not None and "tracking_parts" not in Path(frame.f_code.co_filename).parts:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
