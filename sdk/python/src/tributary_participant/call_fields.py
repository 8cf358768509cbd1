"""Converts the fields of a body to the arguments of a function, and reports every problem before the function is called."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .base64_text import decode_base64
from .errors import ParticipantError
from .functions import INITIAL, OPERATIONS
from .results import CallContext

CLIENTS_MAX = 10_000
_ID_CHARACTERS_MAX = 512
_WARNINGS_MAX = 20
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_REFERENCE = re.compile(r"sha256:[0-9a-f]{64}")
_COMMON = {"config", "round_id", "base_hash", "method", "client_id"}
_KNOWN = {
    "train": _COMMON | {"parameters", "parameters_ref", "dataset", "format"},
    "evaluate": _COMMON | {"parameters", "parameters_ref", "dataset", "format"},
    "aggregate": _COMMON
    | {"parameters_list", "parameters_refs", "weights", "client_ids", "strategy", "base", "base_ref", "state", "on_invalid"},
    "serve": _COMMON | {"parameters", "parameters_ref", "input"},
    INITIAL: _COMMON | {"parameters", "parameters_ref", "dataset", "format"},
}
# A function without a `context` does not receive these fields, so the answer warns about them.
_CONTEXT_FIELDS = ("config", "weights", "client_ids", "strategy", "on_invalid", "base", "state", "format")

_ON_INVALID = ("refuse", "drop")
# Settings that the package applies around a train function, with or without a `context`.
_ENFORCED = {"clip_norm", "noise_multiplier", "compress"}


@dataclass(frozen=True)
class CallInput:
    arguments: tuple[Any, ...]
    context: CallContext
    warnings: list[str]


def operation_of(fields: Mapping[str, Any]) -> str:
    """The operation of `/call`, the second generation of the protocol: one route, with the operation in the body."""
    method = fields.get("method")
    if method not in OPERATIONS:
        message = f"method must be one of: {', '.join(OPERATIONS)}"
        raise ParticipantError("VALIDATION_ERROR", message, details={"field": "method"})
    return str(method)


def called_function(operation: str, fields: Mapping[str, Any]) -> str:
    """The function of a call: a train call with `config.untrained` asks for the parameters of a new model."""
    config = fields.get("config")
    is_untrained = operation == "train" and isinstance(config, Mapping) and config.get("untrained") is True
    return INITIAL if is_untrained else operation


@dataclass(frozen=True)
class CallSetting:
    """What a participant adds to the fields of a call."""

    default_dataset: Any
    properties: Mapping[str, Any]
    takes_context: bool
    request_id: str
    cancelled: threading.Event
    report: Callable[[float], None]
    served: Callable[[str | None, bytes | None], bytes | None]
    """The parameters of a serve call by their hash, or None."""


def read_call(operation: str, fields: dict[str, Any], setting: CallSetting) -> CallInput:
    if operation != "serve":
        _refuse_references(fields)
    warnings = _warnings_of(operation, fields, setting.takes_context)
    base: bytes | None = None
    if operation == "aggregate":
        base = _bytes_of(fields, "base")
        entries = _entries_of(fields)
        _check_per_client(fields, len(entries))
        _refuse_other_base(fields, base)
        arguments: tuple[Any, ...] = (entries,)
    elif operation == "serve":
        arguments = (_served_of(fields, setting), _input_of(fields))
    elif operation == INITIAL:
        if _bytes_of(fields, "parameters") is not None:
            raise _invalid("config.untrained", "asks for a new model, so the call must have no parameters")
        arguments = ()
    else:
        parameters = _bytes_of(fields, "parameters")
        _refuse_other_base(fields, parameters)
        arguments = (parameters, _dataset_of(fields, setting.default_dataset))
    context = CallContext(
        request_id=setting.request_id,
        config=_object_of(fields, "config") or {},
        round_id=_round_of(fields),
        weights=fields.get("weights"),
        client_ids=fields.get("client_ids"),
        strategy=_object_of(fields, "strategy"),
        on_invalid=_choice_of(fields, "on_invalid", _ON_INVALID),
        format=_text_of(fields, "format"),
        base=base,
        state=_bytes_of(fields, "state"),
        cancelled=setting.cancelled,
        client_id=_text_of(fields, "client_id"),
        properties=setting.properties,
        report=setting.report,
    )
    return CallInput(arguments, context, warnings)


def _refuse_references(fields: Mapping[str, Any]) -> None:
    for name in ("parameters_ref", "parameters_refs", "base_ref"):
        if fields.get(name):
            message = f"This participant stores no blobs, so {name} cannot be used. Send the parameters themselves."
            raise ParticipantError("BLOB_NOT_FOUND", message, details={"field": name})


def _served_of(fields: dict[str, Any], setting: CallSetting) -> bytes:
    """The parameters of the published round: sent, or kept from an earlier call that sent them."""
    reference = _text_of(fields, "parameters_ref")
    if reference is not None and not _REFERENCE.fullmatch(reference):
        raise _invalid("parameters_ref", "must be sha256: and 64 hex digits")
    sent = _bytes_of(fields, "parameters")
    if sent is None and reference is None:
        raise _invalid("parameters", "is required, or parameters_ref")
    parameters = setting.served(reference, sent)
    if parameters is None:
        message = f"This participant does not have {reference}. Send the parameters themselves."
        raise ParticipantError("BLOB_NOT_FOUND", message, details={"field": "parameters_ref"})
    _refuse_other_base(fields, parameters)
    return parameters


def _input_of(fields: Mapping[str, Any]) -> str:
    value = fields.get("input")
    if not isinstance(value, str):
        raise _invalid("input", "must be a string")
    return value


def _warnings_of(operation: str, fields: Mapping[str, Any], takes_context: bool) -> list[str]:
    unknown = [f"unknown field ignored: {name[:100]}" for name in fields if name not in _KNOWN[operation]]
    if takes_context:
        return unknown[:_WARNINGS_MAX]
    # The config of a serve call is what its caller asked for, which a function may do without.
    unseen = [name for name in _CONTEXT_FIELDS if name in _KNOWN[operation] and fields.get(name) and operation not in ("serve", INITIAL)]
    if operation == "train" and set(_object_of(fields, "config") or {}) <= _ENFORCED:
        unseen = [name for name in unseen if name != "config"]
    return unknown[:_WARNINGS_MAX] + [f"the registered function has no context argument, so {name} is ignored" for name in unseen]


def _bytes_of(fields: dict[str, Any], name: str) -> bytes | None:
    """None, empty and absent values are equal. The text is removed from the fields, so that at most two copies of a model are in memory."""
    value = fields.pop(name, None)
    if value is None or _is_empty(value):
        return None
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise _invalid(name, "must be a base64 string")
    return decode_base64(value, name)


def _is_empty(value: Any) -> bool:
    return isinstance(value, (str, bytes)) and len(value) == 0


def _entries_of(fields: dict[str, Any]) -> list[bytes]:
    entries = fields.pop("parameters_list", None)
    if not isinstance(entries, list):
        raise _invalid("parameters_list", "must be a list of base64 strings")
    if len(entries) == 0:
        raise ParticipantError("EMPTY_LIST", "parameters_list is empty")
    if len(entries) > CLIENTS_MAX:
        raise _invalid("parameters_list", f"has {len(entries)} entries; the limit is {CLIENTS_MAX}")
    for client, entry in enumerate(entries):
        entries[client] = _entry(client, entry)
    return entries


def _entry(client: int, entry: Any) -> bytes:
    if not isinstance(entry, (str, bytes)) or len(entry) == 0:
        message = f"client {client}: its parameters are empty or not a base64 string"
        raise ParticipantError("VALIDATION_ERROR", message, details={"client": client, "field": f"parameters_list[{client}]"})
    if isinstance(entry, bytes):
        return entry
    try:
        return decode_base64(entry, f"parameters_list[{client}]")
    except ParticipantError as problem:
        details = {**(problem.details or {}), "client": client}
        raise ParticipantError(problem.kind, f"client {client}: {problem.message}", details=details) from None


def _check_per_client(fields: Mapping[str, Any], clients: int) -> None:
    weights, ids = fields.get("weights"), fields.get("client_ids")
    for name, given in (("weights", weights), ("client_ids", ids)):
        if given is None:
            continue
        if not isinstance(given, list):
            raise _invalid(name, "must be a list")
        if len(given) != clients:
            raise _invalid(name, f"has {len(given)} entries and parameters_list has {clients}")
    if weights is not None:
        if not all(_is_weight(weight) for weight in weights):
            raise _invalid("weights", "must be finite numbers of at least 0")
        if all(weight == 0 for weight in weights):
            raise _invalid("weights", "must have a sum above 0")
    if ids is not None and not all(isinstance(name, str) and len(name) <= _ID_CHARACTERS_MAX for name in ids):
        raise _invalid("client_ids", f"must be strings of at most {_ID_CHARACTERS_MAX} characters")


def _is_weight(value: Any) -> bool:
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:
        return False


def _refuse_other_base(fields: Mapping[str, Any], data: bytes | None) -> None:
    """Refuses parameters that do not match the caller's `base_hash`."""
    expected = fields.get("base_hash")
    if expected is None:
        return
    if not isinstance(expected, str) or not _SHA256.fullmatch(expected):
        raise _invalid("base_hash", "must be a SHA-256 in hex")
    actual = hashlib.sha256(data).hexdigest() if data else None
    if actual != expected.lower():
        message = "base_hash is not the SHA-256 of the parameters in the request"
        raise ParticipantError("BASE_MISMATCH", message, details={"expected": expected, "actual": actual})


def _dataset_of(fields: Mapping[str, Any], default_dataset: Any) -> Any:
    """None if neither the caller nor the participant has a dataset, because a function may have its own data."""
    dataset = fields.get("dataset")
    if dataset is None:
        return default_dataset
    if dataset in ([], {}, "") or (isinstance(dataset, dict) and dataset.get("x") == []):
        raise ParticipantError("EMPTY_DATASET", "the dataset is empty")
    return dataset


def _object_of(fields: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, dict):
        raise _invalid(name, "must be an object")
    return value


def _text_of(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise _invalid(name, "must be a string")
    return value


def _choice_of(fields: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str | None:
    value = _text_of(fields, name)
    if value is not None and value not in choices:
        raise _invalid(name, f"must be one of: {', '.join(choices)}")
    return value


def _round_of(fields: Mapping[str, Any]) -> str | int | float | None:
    value = fields.get("round_id")
    if value is None or isinstance(value, str) or type(value) in (int, float):
        return value
    raise _invalid("round_id", "must be a string or a number")


def _invalid(field: str, what: str) -> ParticipantError:
    return ParticipantError("VALIDATION_ERROR", f"body.{field}: {what}", details={"field": field})
