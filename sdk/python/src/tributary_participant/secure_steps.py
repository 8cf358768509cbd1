"""The steps of a secure sum, `/v1/secure/{round}/{client}/train|shares|masked|help`, as the trainer node has them.

`train` works as `/v1/train`, but the update stays in the participant. It leaves only by `masked`, under its masks.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .answer import Answer
from .errors import ParticipantError
from .float_vectors import float_vectors
from .hidden_updates import Group, HiddenUpdate, HiddenUpdates
from .mask_keys import KEY_BYTES
from .safetensors import load
from .secure_sum import Introduction, RoundSecrets, Share, fraction_bits_for, help_for, masked_words, shares_for, to_words

STEPS = ("train", "shares", "masked", "help")
STEP_BYTES_MAX = 4 * 1024 * 1024
_PLACES_MAX = 255
# From a sum of two, each participant could compute the other's update.
_PLACES_MIN = 3
_ID_CHARACTERS_MAX = 200
_SEALED_CHARACTERS_MAX = 400
_RANGE_MAX = 1e6
_FLOATS = ("F64", "F32", "F16", "BF16")
_Result = TypeVar("_Result")


class SecureSums:
    """A participant's part in secure sums. `place` names the round and the client within the caller's organization."""

    def __init__(self, bytes_max: int) -> None:
        self._hidden = HiddenUpdates(bytes_max)

    def train(self, place: str, round: str, client: str, asked: list[Any], run: Callable[[], Answer]) -> dict[str, Any]:
        """Trains once, hides the update and answers what the coordinator may know of it. `asked`: what the call asks for."""
        for name in (round, client):
            if not 0 < len(name) <= _ID_CHARACTERS_MAX:
                raise _invalid("path", f"its round and its client must have 1 to {_ID_CHARACTERS_MAX} characters each")

        def make() -> HiddenUpdate:
            held = _hide(run(), RoundSecrets.new(round, client))
            held.refuse_changed_request("train", asked)
            return held

        held = self._hidden.begin(place, make)
        with held.lock:
            held.refuse_changed_request("train", asked)
        return held.answer

    def step(self, step: str, place: str, body: Mapping[str, Any]) -> dict[str, Any] | bytes:
        """The answer of one of the other steps. Each may be repeated with the same request."""
        held = self._hidden.find(place)
        with held.lock:
            return {"shares": _share_secrets, "masked": _send_masked, "help": _help}[step](held, body)


def _hide(answer: Answer, secrets: RoundSecrets) -> HiddenUpdate:
    update = bytes(answer.parameters or b"")
    layout = [{"name": name, "dtype": dtype.lower(), "shape": list(shape)} for name, dtype, shape, _ in _floats_of(update)]
    # Its metrics are exact figures of its own rows, and stay with the update that they are of.
    fields = {name: answer.fields[name] for name in ("num_samples",) if name in answer.fields}
    introduction = _write_introduction(secrets.introduction())
    return HiddenUpdate(secrets, update, {**fields, "layout": layout, "introduction": introduction})


def _share_secrets(held: HiddenUpdate, body: Mapping[str, Any]) -> dict[str, Any]:
    given = _list_of(body, "everybody", _PLACES_MIN)
    everybody = [_read_introduction(entry) for entry in given]
    threshold = body.get("threshold")
    if type(threshold) is not int or not 2 <= threshold <= _PLACES_MAX:
        raise _invalid("threshold", f"must be a whole number from 2 to {_PLACES_MAX}")
    _require_mine(held, [person.id for person in everybody])
    if held.group is None:
        sealed = _refusing(lambda: shares_for(held.secrets, everybody, threshold))
        held.group = Group(everybody, threshold, {id: _text(data) for id, data in sealed.items()})
    held.refuse_changed_request("shares", [given, threshold])
    return {"shares": held.group.shares}


def _send_masked(held: HiddenUpdate, body: Mapping[str, Any]) -> bytes:
    group = _require_group(held)
    named = _ids_of(body, "partners", 2)
    factor, limit = _number_of(body, "factor", 1), _number_of(body, "range", _RANGE_MAX)
    if limit == 0:
        raise _invalid("range", "must be above 0")
    _require_mine(held, named)
    partners = [person for person in group.everybody if person.id in named]
    if len(partners) != len(set(named)) or len(partners) < group.threshold:
        raise _invalid("partners", f"must name at least {group.threshold} participants of everybody of the shares step, each once")
    held.refuse_changed_request("masked", [named, factor, limit])
    held.partners = frozenset(named)
    if held.update is None:
        message = "This participant has answered help for this round already, so its update is gone."
        raise ParticipantError("ROUND_CLOSED", message)
    fraction_bits = fraction_bits_for(clients=len(group.everybody), limit=limit)
    words = to_words(_values_of(held.update, limit) * factor, fraction_bits)
    return bytes(masked_words(words, held.secrets, partners).tobytes())


def _help(held: HiddenUpdate, body: Mapping[str, Any]) -> dict[str, Any]:
    group = _require_group(held)
    in_sum = _ids_of(body, "in_sum", 0)
    given = body.get("shares")
    if not isinstance(given, dict):
        raise _invalid("shares", "must be an object")
    received = {id: _bytes_of(sealed, f"shares.{id}", _SEALED_CHARACTERS_MAX) for id, sealed in given.items()}
    # A participant that sent nothing masked may still help the others, with whom it shared its secrets.
    partners = held.partners if held.partners is not None else {person.id for person in group.everybody}
    options: dict[str, Any] = {"everybody": group.everybody, "partners": partners, "received": received, "threshold": group.threshold}
    own_masks, pair_secrets = _refusing(lambda: help_for(held.secrets, in_sum=in_sum, **options))
    # Only an answered request is recorded: a refused one revealed nothing.
    held.refuse_changed_request("help", sorted(in_sum))
    held.update = None
    return {"own_masks": _write_shares(own_masks), "pair_secrets": _write_shares(pair_secrets)}


def _floats_of(update: bytes) -> list[tuple[str, str, tuple[int, ...], Any]]:
    """The tensors by name, which is the order in which their numbers are masked."""
    tensors = load(update)
    for name, tensor in tensors.items():
        if tensor.dtype not in _FLOATS:
            message = f'tensor "{name}" has dtype {tensor.dtype}: secure aggregation supports floats only'
            raise ParticipantError("DTYPE_MISMATCH", message, details={"tensor": name})
    ordered = sorted(tensors.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
    return [(name, tensor.dtype, tensor.shape, tensor.data) for name, tensor in ordered]


def _values_of(update: bytes, limit: float) -> Any:
    import numpy

    vectors = float_vectors()
    parts = []
    for name, dtype, _, data in _floats_of(update):
        values = vectors.unpack(dtype, data)
        if not (numpy.abs(values) <= limit).all():
            # Neither the number nor its place: the update may leave only under its masks.
            message = f'tensor "{name}" has a number beyond the limit of secure aggregation, {limit:g}; raise secureAggregation.range'
            raise ParticipantError("NON_FINITE", message, details={"tensor": name})
        parts.append(values)
    return numpy.concatenate([numpy.zeros(0), *parts])


def _require_mine(held: HiddenUpdate, ids: list[str]) -> None:
    if held.secrets.id not in ids:
        raise ParticipantError("VALIDATION_ERROR", f"The request must include this participant, {held.secrets.id}.")


def _require_group(held: HiddenUpdate) -> Group:
    if held.group is None:
        raise ParticipantError("NOT_READY", "This participant has not shared its secrets yet. Call the shares step first.")
    return held.group


def _refusing(work: Callable[[], _Result]) -> _Result:
    """A request that the protocol forbids is the coordinator's error, so it is answered with 422 and not with 500."""
    try:
        return work()
    except ValueError as problem:
        raise ParticipantError("VALIDATION_ERROR", f"Refused: {problem}.") from problem


def _write_introduction(person: Introduction) -> dict[str, str]:
    keys = {"pair_key": person.pair_key, "share_key": person.share_key, "mask_hash": person.mask_hash}
    return {"id": person.id, **{name: _text(key) for name, key in keys.items()}}


def _read_introduction(entry: Any) -> Introduction:
    if not isinstance(entry, dict) or set(entry) != {"id", "pair_key", "share_key", "mask_hash"}:
        raise _invalid("everybody", "must be a list of introductions")
    keys = [_bytes_of(entry[name], f"everybody.{name}", _SEALED_CHARACTERS_MAX) for name in ("pair_key", "share_key", "mask_hash")]
    if any(len(key) != KEY_BYTES for key in keys):
        raise _invalid("everybody", f"has a key that is not {KEY_BYTES} bytes as base64")
    return Introduction(_id_of(entry["id"], "everybody.id"), *keys)


def _write_shares(shares: Mapping[str, Share]) -> dict[str, Any]:
    return {id: {"at": share.at, "bytes": _text(share.data)} for id, share in shares.items()}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes_of(value: Any, field: str, characters_max: int) -> bytes:
    wrong = _invalid(field, f"must be base64 of at most {characters_max} characters")
    if not isinstance(value, str) or len(value) > characters_max:
        raise wrong
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise wrong from None


def _list_of(body: Mapping[str, Any], name: str, least: int) -> list[Any]:
    value = body.get(name)
    if not isinstance(value, list) or not least <= len(value) <= _PLACES_MAX:
        raise _invalid(name, f"must be a list of {least} to {_PLACES_MAX} entries")
    return value


def _ids_of(body: Mapping[str, Any], name: str, least: int) -> list[str]:
    return [_id_of(entry, name) for entry in _list_of(body, name, least)]


def _id_of(value: Any, field: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _ID_CHARACTERS_MAX:
        raise _invalid(field, f"must have 1 to {_ID_CHARACTERS_MAX} characters")
    return value


def _number_of(body: Mapping[str, Any], name: str, most: float) -> float:
    value = body.get(name)
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise _invalid(name, f"must be a number from 0 to {most:g}")
    return float(value)


def _invalid(field: str, what: str) -> ParticipantError:
    return ParticipantError("VALIDATION_ERROR", f"body.{field}: {what}", details={"field": field})
