"""Clips and noises the update of a train function, as the caller's config requests.

This happens around the function, which need not know of it, so a participant of this package can promise it to a coordinator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ParticipantError
from .float_vectors import FloatVectors, float_vectors
from .results import TrainResult
from .safetensors import Tensor, dump, load

_FLOATS = ("F64", "F32", "F16", "BF16")
_NOISE_MULTIPLIER_MAX = 1e6


@dataclass(frozen=True)
class UpdateBound:
    clip_norm: float
    deviation: float
    """Standard deviation of the noise on each number; 0 for none."""


def bound_of(config: Mapping[str, Any]) -> UpdateBound | None:
    """None if the config sets no bound. Noise without a bound is refused, because it would not hide the update."""
    clip_norm = _number_of(config, "clip_norm", math.inf)
    multiplier = _number_of(config, "noise_multiplier", _NOISE_MULTIPLIER_MAX)
    if clip_norm > 0:
        return UpdateBound(clip_norm, clip_norm * multiplier)
    if multiplier > 0:
        raise _invalid("noise_multiplier", "requires a clip_norm above 0: without a bound on the update, noise does not hide it")
    return None


def bound_update(returned: Any, *, base: bytes | None, bound: UpdateBound) -> TrainResult:
    """The result of a train function with its update clipped to the bound, and noise added. Without a base, the parameters are the update.

    Raises ParticipantError if the update cannot be bounded as a whole: other formats than safetensors, integers, other tensors than the
    base has.
    """
    result = returned if isinstance(returned, TrainResult) else TrainResult(returned)
    if not isinstance(result.parameters, (bytes, bytearray, memoryview)):
        # The answer reports this mistake of the function.
        return result
    vectors = float_vectors()
    after = _read(vectors, result.parameters)
    before = _start(vectors, after, base)
    length = math.sqrt(sum(vectors.squared_distance(before[name], values) for name, (_, values) in after.items()))
    factor = 1.0 if length <= bound.clip_norm else bound.clip_norm / length
    bounded = {
        name: Tensor(dtype, shape, vectors.pack(dtype, vectors.moved(before[name], values, factor=factor, deviation=bound.deviation)))
        for name, ((dtype, shape), values) in after.items()
    }
    # Exact metrics of the model without noise would reveal what the noise hides.
    metrics = {"noise_deviation": bound.deviation} if bound.deviation > 0 else result.metrics
    return TrainResult(dump(bounded), num_samples=result.num_samples, metrics=metrics)


_Read = dict[str, tuple[tuple[str, tuple[int, ...]], Any]]


def _read(vectors: FloatVectors, parameters: bytes | bytearray | memoryview) -> _Read:
    found: _Read = {}
    for name, tensor in _load(parameters).items():
        if tensor.dtype not in _FLOATS:
            message = f'tensor "{name}" has dtype {tensor.dtype}: config.clip_norm applies to float tensors only'
            raise ParticipantError("DTYPE_MISMATCH", message, details={"tensor": name})
        values = vectors.unpack(tensor.dtype, tensor.data)
        if not vectors.is_finite(values):
            message = f'tensor "{name}" has a NaN or infinity, so its update cannot be clipped'
            raise ParticipantError("NON_FINITE", message, details={"tensor": name})
        found[name] = ((tensor.dtype, tensor.shape), values)
    return found


def _start(vectors: FloatVectors, after: _Read, base: bytes | None) -> dict[str, Any]:
    """The base's values by name; zeros if there is no base."""
    if base is None:
        return {name: vectors.zeros(values) for name, (_, values) in after.items()}
    before = _read(vectors, base)
    for name in (*after, *before):
        if name not in after or name not in before or before[name][0][1] != after[name][0][1]:
            message = f'tensor "{name}" is not the same in the trained parameters and in those of the request, so the update cannot be clipped'
            raise ParticipantError("SHAPE_MISMATCH", message, details={"tensor": name})
    return {name: values for name, (_, values) in before.items()}


def _load(parameters: bytes | bytearray | memoryview) -> dict[str, Tensor]:
    try:
        return load(parameters)
    except ParticipantError as problem:
        if problem.kind != "UNSUPPORTED_PARAMETERS":
            raise
        message = f"config.clip_norm requires parameters that this package reads. {problem.message}"
        raise ParticipantError("UNSUPPORTED_PARAMETERS", message, details=problem.details) from None


def _number_of(config: Mapping[str, Any], name: str, most: float) -> float:
    value = config.get(name)
    if value is None:
        return 0.0
    if type(value) not in (int, float) or not 0 <= value <= most or not math.isfinite(value):
        raise _invalid(name, "must be a finite number from 0" + (f" to {most:g}" if math.isfinite(most) else ""))
    return float(value)


def _invalid(name: str, what: str) -> ParticipantError:
    return ParticipantError("VALIDATION_ERROR", f"body.config.{name}: {what}", details={"field": f"config.{name}"})
