"""Compresses the update of a train function, as `config.compress` requests: float16, int8 or the largest numbers (top_k).

What is sent is the change from the parameters of the call. What compression loses is added to the next update of the same client (error
feedback). It is kept in memory, so a restart loses it once. It needs numpy.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from .call_fields import CallInput
from .errors import ParticipantError
from .float_vectors import float_vectors
from .results import TrainResult
from .safetensors import Tensor, dump, load

_METHODS = ("float16", "int8", "top_k")
_FLOATS = ("F64", "F32", "F16", "BF16")
_TOP_K_SHARE = 0.05
# What an entry costs beside its numbers and its texts.
_ENTRY_BYTES = 1024

_Values = dict[str, Any]
_Place = tuple[str, str, str]


def can_compress() -> bool:
    return find_spec("numpy") is not None


class Residuals:
    """What the compressed updates of clients have not sent yet. A round that is asked again gets what it got the first time.

    Limited in bytes; those that were not used for the longest time go first, which costs their clients some precision once.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._kept: OrderedDict[_Place, tuple[str, _Values, _Values]] = OrderedDict()
        self._lock = threading.Lock()

    def compressing(self, operation: str, call: CallInput, work: Callable[[], Any], *, tenant: str) -> Callable[[], Any]:
        """The work, with its result compressed if the config asks for it and there are parameters that the update starts from."""
        asked = call.context.config.get("compress") if operation == "train" else None
        if asked is None:
            return work
        method, share = _settings(asked)
        base = call.arguments[0]
        if base is None:
            return work
        # A function may write into its arguments.
        start = bytes(base)
        round_id = str(call.context.round_id)
        place = _place(tenant, call.context.round_id, call.context.client_id)

        def compressed() -> Any:
            return self._compress(work(), start, method=method, share=share, place=place, round_id=round_id)

        return compressed

    def _compress(self, returned: Any, base: bytes, *, method: str, share: float, place: _Place | None, round_id: str) -> Any:
        result = returned if isinstance(returned, TrainResult) else TrainResult(returned)
        if not isinstance(result.parameters, (bytes, bytearray, memoryview)):
            # The answer reports this mistake of the function.
            return result
        owed = {} if place is None else self.before(place, round_id)
        parameters, left = compress_update(result.parameters, base, owed, method=method, share=share)
        if place is not None:
            self.keep(place, round_id, owed, left)
        return TrainResult(parameters, num_samples=result.num_samples, metrics=result.metrics)

    def before(self, place: _Place, round_id: str) -> _Values:
        """What the client owes at the start of the round."""
        with self._lock:
            kept = self._kept.get(place)
        if kept is None:
            return {}
        return kept[1] if kept[0] == round_id else kept[2]

    def keep(self, place: _Place, round_id: str, before: _Values, after: _Values) -> None:
        entry = (round_id, before, after)
        with self._lock:
            self._forget(place)
            # One that is too large alone must not cost all others.
            if _bytes_of(place, entry) > self._bytes_max:
                return
            self._kept[place] = entry
            self._bytes += _bytes_of(place, entry)
            while self._bytes > self._bytes_max:
                self._forget(next(iter(self._kept)))

    def _forget(self, place: _Place) -> None:
        entry = self._kept.pop(place, None)
        if entry is not None:
            self._bytes -= _bytes_of(place, entry)


def _bytes_of(place: _Place, entry: tuple[str, _Values, _Values]) -> int:
    round_id, before, after = entry
    texts = sum(map(len, (*place, round_id, *before, *after)))
    return _ENTRY_BYTES + 4 * texts + sum(values.nbytes for values in (*before.values(), *after.values()))


def compress_update(
    trained: bytes | bytearray | memoryview, base: bytes, owed: Mapping[str, Any], *, method: str, share: float = _TOP_K_SHARE
) -> tuple[bytes, _Values]:
    """The compressed parameters, and what they lose of each tensor. Tensors of integers are sent whole."""
    import numpy

    vectors = float_vectors()
    after, starts = load(trained), load(base)
    _require_same(after, starts)
    parts: dict[str, Tensor] = {}
    expanded: dict[str, Tensor] = {}
    left: _Values = {}
    for name, tensor in after.items():
        if tensor.dtype not in _FLOATS:
            parts[f"{name}#whole"] = expanded[name] = tensor
            continue
        start = vectors.unpack(tensor.dtype, starts[name].data)
        change = _change_of(name, vectors.unpack(tensor.dtype, tensor.data), start, owed.get(name))
        with numpy.errstate(over="ignore", invalid="ignore"):
            packed, sent = _pack(change, method=method, share=share)
        # Then what is left is finite, too: no number that is not sent, and no rounding, is larger than what is sent.
        if not vectors.is_finite(sent):
            raise _non_finite(name, f"has a number that {method} cannot represent; use another method")
        parts |= {f"{name}#{part}": value for part, value in packed.items()}
        expanded[name] = Tensor(tensor.dtype, tensor.shape, vectors.pack(tensor.dtype, _moved(tensor.dtype, start, sent)))
        left[name] = (change - sent).astype("f4")
    text = json.dumps({"method": method, "sha256": _content_digest(expanded)}).encode()
    return dump({"#compression": Tensor("U8", (len(text),), text), **parts}), left


def _change_of(name: str, after: Any, start: Any, owed: Any) -> Any:
    """A number that is not finite would stay in what the client owes, and in all its updates, for ever."""
    import numpy

    with numpy.errstate(over="ignore", invalid="ignore"):
        change = after - start
    if owed is not None and len(owed) == len(change) and numpy.isfinite(owed).all():
        change = change + owed
    if not numpy.isfinite(change).all():
        raise _non_finite(name, "has a NaN or infinity, so it cannot be compressed")
    return change


def _moved(dtype: str, start: Any, sent: Any) -> Any:
    """Sums in float64. The trainer node has halves in float32, so it rounds them to float32 first, and the digest needs the same numbers."""
    return (start + sent).astype("f4") if dtype == "F16" else start + sent


def _pack(change: Any, *, method: str, share: float) -> tuple[dict[str, Tensor], Any]:
    """The tensors of one change, and the change that a receiver reads from them: not finite if the method cannot represent it."""
    import numpy

    if method == "float16":
        half = change.astype("<f2")
        return {"float16": _tensor("F16", half)}, half.astype("f8")
    if method == "int8":
        scale = numpy.float32(numpy.abs(change).max(initial=0.0) / 127)
        step = float(scale)
        levels = numpy.clip(numpy.rint(change / (step or 1.0)), -127, 127).astype("i1")
        return {"int8": _tensor("I8", levels), "scale": _tensor("F32", numpy.array([scale], "<f4"))}, levels.astype("f8") * step
    count = min(len(change), math.ceil(len(change) * share))
    # A stable sort, so that of equal numbers the first are taken.
    indexes = numpy.sort(numpy.argsort(-numpy.abs(change), kind="stable")[:count]).astype("<u4")
    values = change[indexes].astype("<f4")
    sent = numpy.zeros(len(change))
    sent[indexes] = values
    return {"index": _tensor("U32", indexes), "value": _tensor("F32", values)}, sent


def _tensor(dtype: str, values: Any) -> Tensor:
    return Tensor(dtype, (len(values),), values.tobytes())


def _content_digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, types, shapes and numbers, in the order of the names as JavaScript compares them."""
    digest = hashlib.sha256()
    for name in sorted(tensors, key=lambda text: text.encode("utf-16-be")):
        tensor = tensors[name]
        digest.update(f"{name}\n{tensor.dtype.lower()}\n{','.join(map(str, tensor.shape))}\n".encode())
        digest.update(tensor.data)
    return digest.hexdigest()


def _require_same(after: Mapping[str, Tensor], starts: Mapping[str, Tensor]) -> None:
    for name in (*after, *starts):
        if name not in after or name not in starts or (after[name].dtype, after[name].shape) != (starts[name].dtype, starts[name].shape):
            message = f'config.compress needs parameters with the tensors of the request; "{name}" differs'
            raise ParticipantError("SHAPE_MISMATCH", message, details={"tensor": name})


def _settings(asked: Any) -> tuple[str, float]:
    given = {"method": asked} if isinstance(asked, str) else asked
    method = given.get("method") if isinstance(given, dict) else None
    if method not in _METHODS:
        raise _invalid(f"must have a method, one of {', '.join(_METHODS)}")
    share = given.get("share", _TOP_K_SHARE)
    if type(share) not in (int, float) or not 0 < share <= 1:
        raise _invalid("share must be a number above 0, at most 1")
    if not can_compress():
        raise _invalid("needs numpy, which is not installed here")
    return method, float(share)


def _place(tenant: str, round_id: Any, client_id: Any) -> _Place | None:
    """A client of an organization's federation: the last part of a round's id is its number."""
    if not isinstance(round_id, str) or not isinstance(client_id, str):
        return None
    return tenant, round_id.rpartition("/")[0], client_id


def _non_finite(tensor: str, what: str) -> ParticipantError:
    return ParticipantError("NON_FINITE", f'the change of tensor "{tensor}" {what}', details={"tensor": tensor})


def _invalid(what: str) -> ParticipantError:
    return ParticipantError("VALIDATION_ERROR", f"body.config.compress: {what}", details={"field": "config.compress"})
