"""Encodes the result of a function as an answer. A result that cannot be encoded is reported as an error of the function."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .base64_text import encode_base64
from .errors import ParticipantError
from .results import AggregateResult, EvaluateResult, TrainResult
from .safetensors import looks_like_safetensors

# Node limits all headers together to 16 KiB.
_HEAD_BYTES_MAX = 8192
# What is left out, in this order, if the fields do not fit. The rest is short, and num_samples weighs the update and its reward.
_LEFT_OUT_FIRST = ("clients", "warnings", "metrics")
_OUTPUT_CHARACTERS_MAX = 100_000
# Of metrics that a warning names.
_NAMES_MAX = 10
_NAME_CHARACTERS_MAX = 64


@dataclass(frozen=True)
class Answer:
    """Parameters and state as bytes, and the other fields."""

    parameters: memoryview | None
    state: memoryview | None
    fields: dict[str, Any]


def answer_of(operation: str, returned: Any, *, duration_ms: float, warnings: list[str]) -> Answer:
    readers = {"train": _trained, "evaluate": _evaluated, "aggregate": _aggregated, "serve": _served, "initial": _untrained}
    answer = readers[operation](returned)
    finite, warning = _finite_metrics(answer.fields.pop("metrics", None) or {})
    metrics = {**finite, "duration_ms": round(duration_ms, 3)}
    fields = {name: value for name, value in answer.fields.items() if value is not None}
    if answer.parameters is not None:
        fields["sha256"] = hashlib.sha256(answer.parameters).hexdigest()
        if looks_like_safetensors(answer.parameters):
            fields["format"] = "safetensors"
    return Answer(answer.parameters, answer.state, {**fields, "metrics": metrics, "warnings": [*warnings, *warning]})


def write_json(answer: Answer) -> list[bytes]:
    """The JSON answer in pieces, so that a large model is not copied once more."""
    pieces = [b"{"]
    for name, data in (("parameters", answer.parameters), ("state", answer.state)):
        if data is not None:
            pieces += [b'"' + name.encode() + b'":"', encode_base64(data), b'",']
    return [*pieces, dump_fields(answer.fields)[1:]]


def write_octets(answer: Answer) -> tuple[list[bytes], str]:
    """The parameters as bytes, and the X-Result header with the other fields."""
    if answer.parameters is None or answer.state is not None:
        raise ParticipantError("VALIDATION_ERROR", "The answer is not parameters alone, so it cannot be octets. Accept application/json.")
    return [bytes(answer.parameters)], result_header(answer.fields)


def result_header(fields: dict[str, Any]) -> str:
    """The fields of an answer whose body is octets, as its X-Result header. If fields are left out, `warnings` says so.

    Of metrics, those stay that fit, in their order.
    """
    kept, left_out = dict(fields), list[str]()
    head = dump_fields(kept)
    for name in _LEFT_OUT_FIRST:
        if len(head) <= _HEAD_BYTES_MAX:
            break
        value = kept.pop(name, None)
        if value is None:
            continue
        fitting = _fitting_metrics(value, kept, left_out) if name == "metrics" else {}
        kept |= {"metrics": fitting} if fitting else {}
        left_out.append(_some_metrics(len(value) - len(fitting), len(value)) if fitting else name)
        head = _head_without(kept, left_out)
    return head.decode("ascii")


def _head_without(kept: dict[str, Any], left_out: list[str]) -> bytes:
    """The fields with a warning that names what is not among them."""
    warning = f"left out because they do not fit the X-Result header: {', '.join(left_out)}; accept JSON"
    return dump_fields({**kept, "warnings": [*kept.get("warnings", []), warning]})


def _some_metrics(count: int, of: int) -> str:
    return f"metrics ({count} of {of})"


def _fitting_metrics(metrics: dict[str, Any], others: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    """The metrics that fit beside the other fields."""
    longest = [*left_out, _some_metrics(len(metrics), len(metrics))]
    room = _HEAD_BYTES_MAX - len(_head_without({**others, "metrics": {}}, longest))
    fitting: dict[str, Any] = {}
    for name, value in metrics.items():
        # Without its braces, and with a comma.
        size = len(dump_fields({name: value})) - 1
        if size <= room:
            fitting[name] = value
            room -= size
    return fitting


def _finite_metrics(metrics: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The metrics without those that are NaN or infinite, and a warning that names these: the training that they came with is not lost."""
    left_out = list[str]()
    try:
        finite = _finite(metrics, "", left_out)
    except RecursionError:
        raise _wrong("The function returned metrics that contain themselves.") from None
    if not left_out:
        return finite, []
    others = len(left_out) - _NAMES_MAX
    names = ", ".join(left_out[:_NAMES_MAX]) + (f" and {others} more" if others > 0 else "")
    return finite, [f"metrics left out because they are NaN or infinite: {names}"]


def _finite(metrics: Mapping[str, Any], prefix: str, left_out: list[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in metrics.items():
        path = f"{prefix}{name}"[:_NAME_CHARACTERS_MAX]
        if isinstance(value, Mapping):
            kept[name] = _finite(value, f"{path}/", left_out)
        elif _is_finite(value):
            kept[name] = value
        else:
            left_out.append(path)
    return kept


def _is_finite(value: Any) -> bool:
    """False for NaN and infinity, of numpy and torch too, and for a list with one. What is no number is another's to judge."""
    if isinstance(value, (list, tuple)):
        return all(_is_finite(one) for one in value)
    try:
        number = value if isinstance(value, (int, float, str)) else _plain(value)
    except (TypeError, ValueError, RuntimeError):
        return True
    return not isinstance(number, float) or math.isfinite(number)


def _trained(returned: Any) -> Answer:
    result = returned if isinstance(returned, TrainResult) else TrainResult(returned)
    fields = {"num_samples": _samples(result.num_samples), "metrics": _object(result.metrics)}
    return Answer(_octets(result.parameters, "train"), None, fields)


def _untrained(returned: Any) -> Answer:
    """The metric says that nothing was trained. A count of samples would be data."""
    return Answer(_octets(returned, "initial"), None, {"metrics": {"untrained": 1}})


def _evaluated(returned: Any) -> Answer:
    result = returned if isinstance(returned, EvaluateResult) else EvaluateResult(returned)
    fields = {
        "accuracy": _accuracy(result.accuracy),
        "num_samples": _samples(result.num_samples),
        "metrics": _object(result.metrics),
    }
    return Answer(None, None, fields)


def _aggregated(returned: Any) -> Answer:
    result = returned if isinstance(returned, AggregateResult) else AggregateResult(returned)
    state = None if result.state is None else _octets(result.state, "aggregate")
    clients = None if result.clients is None else [_object(client) for client in result.clients]
    return Answer(_octets(result.parameters, "aggregate"), state, {"metrics": _object(result.metrics), "clients": clients})


def _served(returned: Any) -> Answer:
    """A text, or a value as JSON: numbers, lists and dictionaries, of numpy too."""
    if returned is None or isinstance(returned, (bytes, bytearray, memoryview)):
        raise _wrong(f"The serve function must return text or a value that JSON can represent and returned {type(returned).__name__}.")
    output = returned if isinstance(returned, str) else _readable(json.loads(dump_fields({"output": returned}))["output"])
    if len(output) > _OUTPUT_CHARACTERS_MAX:
        raise _wrong(f"The serve function returned more than {_OUTPUT_CHARACTERS_MAX} characters.")
    return Answer(None, None, {"output": output})


def _readable(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _octets(value: Any, operation: str) -> memoryview:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _wrong(f"The {operation} function must return bytes and returned {type(value).__name__}.")
    view = memoryview(value)
    return view.cast("B") if view.c_contiguous and view.nbytes > 0 else memoryview(bytes(value))


def _accuracy(value: Any) -> float:
    # Scalars of numpy and torch are numbers, too, but not Python floats.
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise _wrong(f"The evaluate function must return a number and returned {type(value).__name__}.")
    try:
        accuracy = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise _wrong(f"The evaluate function returned a {type(value).__name__} that is not one number.") from None
    if not math.isfinite(accuracy):
        raise _wrong("The evaluate function returned NaN or infinity.")
    return accuracy


def _samples(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise _wrong("num_samples must be a whole number from 0.")
    return int(value.__index__())


def _object(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wrong(f"metrics and clients must be dictionaries, not {type(value).__name__}.")
    return dict(value)


def dump_fields(fields: dict[str, Any]) -> bytes:
    """Fields of an answer as JSON. Values that JSON cannot represent are a mistake of the function."""
    try:
        return json.dumps(fields, allow_nan=False, separators=(",", ":"), default=_plain).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        raise _wrong("The function returned a value that JSON cannot represent, such as NaN or a custom object.") from None


def _plain(value: Any) -> Any:
    """The Python number of a numpy or torch scalar."""
    item = getattr(value, "item", None)
    if not callable(item):
        raise TypeError(type(value).__name__)
    return item()


def _wrong(message: str) -> ParticipantError:
    return ParticipantError("FUNCTION_ERROR", message)
