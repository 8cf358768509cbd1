"""Arithmetic on the numbers of a tensor, in float64: with numpy if it is installed, else in plain Python, which is slower."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from typing import Any, Protocol

from .elements import pack_values, unpack_values

_BLOCK = 65_536
_NUMPY_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


class FloatVectors(Protocol):
    def unpack(self, dtype: str, data: bytes | bytearray | memoryview) -> Any: ...

    def pack(self, dtype: str, values: Any) -> bytes: ...

    def zeros(self, like: Any) -> Any: ...

    def is_finite(self, values: Any) -> bool: ...

    def squared_distance(self, start: Any, end: Any) -> float: ...

    def moved(self, start: Any, end: Any, *, factor: float, deviation: float) -> Any:
        """start + factor · (end - start), plus Gaussian noise from the system's cryptographic randomness."""


def float_vectors() -> FloatVectors:
    try:
        import numpy
    except ImportError:
        return PlainVectors()
    return NumpyVectors(numpy)


class PlainVectors:
    def __init__(self) -> None:
        # A seeded generator would let the receiver of an update search for the seed and remove the noise.
        self._gauss: Callable[[float, float], float] = random.SystemRandom().gauss

    def unpack(self, dtype: str, data: bytes | bytearray | memoryview) -> Any:
        return unpack_values(dtype, data)

    def pack(self, dtype: str, values: Any) -> bytes:
        return pack_values(dtype, values)

    def zeros(self, like: Any) -> Any:
        return [0.0] * len(like)

    def is_finite(self, values: Any) -> bool:
        return all(map(math.isfinite, values))

    def squared_distance(self, start: Any, end: Any) -> float:
        return math.fsum((after - before) ** 2 for before, after in zip(start, end, strict=True))

    def moved(self, start: Any, end: Any, *, factor: float, deviation: float) -> Any:
        clipped = end if factor == 1 else [before + factor * (after - before) for before, after in zip(start, end, strict=True)]
        return [value + self._gauss(0.0, deviation) for value in clipped] if deviation > 0 else clipped


class NumpyVectors:
    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy

    def unpack(self, dtype: str, data: bytes | bytearray | memoryview) -> Any:
        if dtype in _NUMPY_TYPES:
            return self._numpy.frombuffer(data, _NUMPY_TYPES[dtype]).astype("f8")
        return self._numpy.array(unpack_values(dtype, data), "f8")

    def pack(self, dtype: str, values: Any) -> bytes:
        if dtype in _NUMPY_TYPES:
            return bytes(values.astype(_NUMPY_TYPES[dtype]).tobytes())
        return pack_values(dtype, values.tolist())

    def zeros(self, like: Any) -> Any:
        return self._numpy.zeros_like(like)

    def is_finite(self, values: Any) -> bool:
        return bool(self._numpy.isfinite(values).all())

    def squared_distance(self, start: Any, end: Any) -> float:
        difference = end - start
        return float(difference @ difference)

    def moved(self, start: Any, end: Any, *, factor: float, deviation: float) -> Any:
        clipped = end.copy() if factor == 1 else start + factor * (end - start)
        for at in range(0, len(clipped) if deviation > 0 else 0, _BLOCK):
            block = clipped[at : at + _BLOCK]
            block += deviation * self._normals(len(block))
        return clipped

    def _normals(self, count: int) -> Any:
        """Box-Muller over the system's randomness; 1 - u keeps the logarithm away from zero."""
        numpy = self._numpy
        uniform = (numpy.frombuffer(os.urandom(16 * count), "<u8") >> 11) * 2.0**-53
        return numpy.sqrt(-2 * numpy.log(1 - uniform[:count])) * numpy.cos(2 * numpy.pi * uniform[count:])
