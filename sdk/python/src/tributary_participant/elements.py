"""Converts numbers to and from raw little-endian bytes for every supported dtype of safetensors."""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Sequence
from typing import Any

# Type codes of `array`. Their sizes are those of C types, which are equal on all platforms of CPython.
_ARRAY_CODES = {
    "F64": "d",
    "F32": "f",
    "I64": "q",
    "I32": "i",
    "I16": "h",
    "I8": "b",
    "U64": "Q",
    "U32": "I",
    "U16": "H",
    "U8": "B",
}
ELEMENT_BYTES = {
    **{dtype: array(code).itemsize for dtype, code in _ARRAY_CODES.items()},
    "F16": 2,
    "BF16": 2,
    "BOOL": 1,
}


def pack_values(dtype: str, values: Sequence[Any]) -> bytes:
    if dtype == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    if dtype == "BF16":
        return _little(array("H", _brains(values)))
    if dtype == "BOOL":
        return bytes(1 if value else 0 for value in values)
    return _little(array(_ARRAY_CODES[dtype], values))


def unpack_values(dtype: str, data: bytes | bytearray | memoryview) -> list[Any]:
    raw = bytes(data)
    if dtype == "F16":
        return list(struct.unpack(f"<{len(raw) // 2}e", raw))
    if dtype == "BOOL":
        return [byte != 0 for byte in raw]
    if dtype == "BF16":
        # A bfloat16 is the upper half of a float32.
        return array("f", array("I", [half << 16 for half in _numbers("H", raw)]).tobytes()).tolist()
    return _numbers(_ARRAY_CODES[dtype], raw).tolist()


def _numbers(code: str, raw: bytes) -> array[Any]:
    numbers: array[Any] = array(code, raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _little(numbers: array[Any]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _brains(values: Sequence[float]) -> list[int]:
    """The bits of bfloat16, rounded to nearest with ties to even; a NaN stays a NaN."""
    bits = array("I", array("f", values).tobytes())
    return [0x7FC0 if math.isnan(value) else (bit + 0x7FFF + ((bit >> 16) & 1)) >> 16 for value, bit in zip(values, bits, strict=True)]
