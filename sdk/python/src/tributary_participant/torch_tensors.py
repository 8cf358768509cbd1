"""safetensors and torch tensors. Only these functions need torch, which is imported when one is called."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .safetensors import Octets, Tensor, dump, load

if TYPE_CHECKING:
    import torch

_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
_NAMES = {f"torch.{name}": dtype for dtype, name in _TYPES.items()}


def load_torch(data: Octets) -> dict[str, torch.Tensor]:
    """A state dict on the CPU. Unlike torch.load, this cannot execute code of the sender."""
    import torch

    tensors = {}
    for name, tensor in load(data).items():
        dtype = getattr(torch, _TYPES[tensor.dtype])
        # frombuffer does not accept an empty buffer, and keeps a view of its argument.
        raw = torch.frombuffer(bytearray(tensor.data), dtype=dtype) if len(tensor.data) > 0 else torch.empty(0, dtype=dtype)
        tensors[name] = raw.reshape(tensor.shape)
    return tensors


def dump_torch(state: Mapping[str, torch.Tensor]) -> bytes:
    tensors = {}
    for name, value in state.items():
        given = value.detach().cpu().contiguous()
        dtype = _NAMES.get(str(given.dtype))
        if dtype is None:
            raise ValueError(f'tensor "{name}" is of {given.dtype}, which safetensors does not have')
        size = given.numel() * given.element_size()
        tensors[name] = Tensor(dtype, tuple(given.shape), ctypes.string_at(given.data_ptr(), size) if size > 0 else b"")
    return dump(tensors)
