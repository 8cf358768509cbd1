"""safetensors (huggingface/safetensors) in plain Python: eight bytes of header length, a JSON header, then the tensors' bytes without gaps.

Such a file contains no code, so it is safe to exchange parameters in.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from .elements import ELEMENT_BYTES, pack_values, unpack_values
from .errors import ParticipantError

HEADER_BYTES_MAX = 16 * 1024 * 1024
TENSORS_MAX = 10_000
NAME_BYTES_MAX = 512
DIMENSIONS_MAX = 32
ELEMENTS_MAX = 2**31 - 1
_METADATA = "__metadata__"

Octets = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Tensor:
    """`data` is the raw little-endian bytes; a view without a copy if the tensor was read from a file."""

    dtype: str
    shape: tuple[int, ...]
    data: Octets

    @classmethod
    def of(cls, values: Sequence[Any], *, dtype: str = "F32", shape: Sequence[int] | None = None) -> Tensor:
        """Creates a tensor from flat numbers in row order."""
        _element_bytes(dtype)
        shape = (len(values),) if shape is None else tuple(shape)
        if _count_of(shape) != len(values):
            raise ValueError(f"{len(values)} values do not have the shape {list(shape)}")
        return cls(dtype, tuple(shape), pack_values(dtype, values))

    def values(self) -> list[Any]:
        """The flat numbers in row order. Half-precision floats are widened, which is exact."""
        return unpack_values(self.dtype, self.data)


def looks_like_safetensors(data: Octets) -> bool:
    """Detects safetensors by a header length that fits the bytes, and a brace at the beginning of the header."""
    return len(data) > 8 and data[8] == 0x7B and struct.unpack_from("<Q", data)[0] <= len(data) - 8


def load(data: Octets) -> dict[str, Tensor]:
    """The tensors of a file by name. Raises ParticipantError, so that a function that calls this answers with 415 or 422."""
    view = memoryview(data).cast("B") if len(data) > 0 else memoryview(b"")
    _refuse_others(view)
    (length,) = struct.unpack_from("<Q", view)
    if length > HEADER_BYTES_MAX:
        raise _damaged(f"its header has {length} bytes; at most {HEADER_BYTES_MAX}")
    header = _read_header(bytes(view[8 : 8 + length]))
    content = view[8 + length :]
    covered = 0
    tensors: dict[str, Tensor] = {}
    for start, end, name, dtype, shape in sorted(_read_entry(name, entry) for name, entry in header.items()):
        if start != covered:
            raise _damaged(f'tensor "{name}" begins at {start}, where {covered} was due: tensors may not overlap or leave holes')
        needed = _count_of(shape) * _element_bytes(dtype)
        if end - start != needed:
            raise _damaged(f'tensor "{name}" of shape {list(shape)} and dtype {dtype} needs {needed} bytes but has {end - start}')
        tensors[name] = Tensor(dtype, shape, content[start:end])
        covered = end
    if covered != len(content):
        raise _damaged(f"its tensors end at {covered} and its data at {len(content)}")
    return tensors


def dump(tensors: Mapping[str, Tensor]) -> bytes:
    """Writes a file: wide types first, then by name (as UTF-16, like the trainer node). Equal tensors give equal bytes."""
    ordered = sorted(tensors.items(), key=lambda item: (-_element_bytes(item[1].dtype), item[0].encode("utf-16-be", "surrogatepass")))
    header: dict[str, Any] = {}
    offset = 0
    for name, tensor in ordered:
        size = memoryview(tensor.data).nbytes
        if size != _count_of(tensor.shape) * _element_bytes(tensor.dtype):
            raise ValueError(f'tensor "{name}" of shape {list(tensor.shape)} and dtype {tensor.dtype} does not have {size} bytes')
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    padded = text.ljust(-(-len(text) // 8) * 8)
    return b"".join([struct.pack("<Q", len(padded)), padded, *(tensor.data for _, tensor in ordered)])


def _refuse_others(view: memoryview) -> None:
    """Detects pickles to refuse them; they are never read."""
    if len(view) > 1 and view[0] == 0x80 and 2 <= view[1] <= 5:
        raise _unsupported("The parameters are a Python pickle, which is never unpickled here. Send safetensors.")
    if bytes(view[:4]) == b"PK\x03\x04":
        raise _unsupported("The parameters are a zip archive (npz, or torch.save with a pickle inside). Send safetensors.")
    if not looks_like_safetensors(view):
        raise _unsupported("The format of the parameters is unknown. Send safetensors.")


def _read_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _damaged("its header is not JSON") from None
    if not isinstance(header, dict):
        raise _damaged("its header is not an object")
    header.pop(_METADATA, None)
    if len(header) > TENSORS_MAX:
        raise _damaged(f"it has {len(header)} tensors; at most {TENSORS_MAX}")
    return header


def _read_entry(name: str, entry: Any) -> tuple[int, int, str, str, tuple[int, ...]]:
    if len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX:
        raise _damaged(f"a tensor's name has more than {NAME_BYTES_MAX} bytes")
    if not isinstance(entry, dict):
        raise _damaged(f'tensor "{name}" is not described by an object')
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in ELEMENT_BYTES:
        message = f'tensor "{name}" has an unsupported dtype; supported are {", ".join(ELEMENT_BYTES)}'
        raise _unsupported(message, {"tensor": name, "dtype": str(dtype)[:50]})
    if not _is_counts(shape):
        raise _damaged(f'the shape of "{name}" is not a list of whole numbers')
    if not _is_counts(offsets) or len(offsets) != 2 or offsets[1] < offsets[0]:
        raise _damaged(f'the data_offsets of "{name}" are not two whole numbers in order')
    if len(shape) > DIMENSIONS_MAX or _count_of(shape) > ELEMENTS_MAX:
        raise _damaged(f'tensor "{name}" has more than {DIMENSIONS_MAX} dimensions or {ELEMENTS_MAX} elements')
    return offsets[0], offsets[1], name, dtype, tuple(shape)


def _count_of(shape: Sequence[int]) -> int:
    """The product of the dimensions. An impossible size is refused even if a later dimension is zero."""
    count = 1
    for dimension in shape:
        count *= dimension
        if count > ELEMENTS_MAX:
            break
    return count


def _is_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(entry) is int and entry >= 0 for entry in value)


def _element_bytes(dtype: str) -> int:
    if dtype not in ELEMENT_BYTES:
        raise ValueError(f"{dtype!r} is not a dtype of safetensors; the dtypes are {', '.join(ELEMENT_BYTES)}")
    return ELEMENT_BYTES[dtype]


def _unsupported(message: str, details: Mapping[str, Any] | None = None) -> ParticipantError:
    return ParticipantError("UNSUPPORTED_PARAMETERS", message, details=details or {"formats": ["safetensors"]})


def _damaged(what: str) -> ParticipantError:
    return ParticipantError("VALIDATION_ERROR", f"the safetensors file is damaged: {what}")
