"""safetensors and numpy arrays. Only these functions need numpy, which is imported when one is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .safetensors import Octets, Tensor, dump, load

if TYPE_CHECKING:
    import numpy

TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {code: dtype for dtype, code in TYPES.items()}


def load_numpy(data: Octets) -> dict[str, numpy.ndarray[Any, Any]]:
    """Writable arrays by name. BF16 becomes float32, because numpy does not have it."""
    import numpy

    arrays = {}
    for name, tensor in load(data).items():
        if tensor.dtype == "BF16":
            raw = numpy.frombuffer(tensor.data, "<u2").astype("<u4") << 16
            arrays[name] = raw.view("<f4").reshape(tensor.shape)
        else:
            arrays[name] = numpy.frombuffer(tensor.data, TYPES[tensor.dtype]).reshape(tensor.shape).copy()
    return arrays


def dump_numpy(arrays: Mapping[str, numpy.ndarray[Any, Any]]) -> bytes:
    return dump({name: array_of(name, value) for name, value in arrays.items()})


def array_of(name: str, value: Any) -> Tensor:
    """An array as a tensor; `name` is for the error of a dtype that safetensors does not have."""
    import numpy

    given = numpy.asarray(value)
    code = given.dtype.newbyteorder("<").str
    if code not in _NAMES:
        raise ValueError(f'array "{name}" is of {given.dtype}, which safetensors does not have')
    return Tensor(_NAMES[code], given.shape, numpy.ascontiguousarray(given, code).tobytes())
