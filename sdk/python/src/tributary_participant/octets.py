"""Bodies of raw parameters without base64: `application/octet-stream`."""

from __future__ import annotations

import base64
import struct
from typing import Any

from .errors import ParticipantError
from .json_text import parse_object

_FRAME_HEADER_BYTES_MAX = 65_536


def read_octets(body: bytearray, *, operation: str, config: str | None) -> dict[str, Any]:
    """The fields of a call from the `X-Train-Config` header and the body."""
    fields = _parse_config(config)
    if operation == "aggregate":
        return {**fields, **_read_frames(body)}
    return {**fields, "parameters": bytes(body)}


def _parse_config(config: str | None) -> dict[str, Any]:
    if config is None:
        return {}
    try:
        text = config.encode("latin-1") if config.lstrip().startswith("{") else base64.b64decode(config, validate=True)
        return parse_object(text)
    except (ValueError, ParticipantError):
        message = "X-Train-Config must be a JSON object, plain or in base64."
        raise ParticipantError("VALIDATION_ERROR", message, details={"field": "X-Train-Config"}) from None


def _read_frames(body: bytearray) -> dict[str, Any]:
    """Reads a sequence of frames: four bytes of header length, a JSON header, and the bytes it announces (a client, `base` or `state`)."""
    fields: dict[str, Any] = {}
    entries: list[bytes] = []
    headers: list[dict[str, Any]] = []
    view = memoryview(body)
    at = 0
    while at < len(view):
        header, at = _read_header(view, at)
        content = _take(view, at, header["bytes"])
        at += header["bytes"]
        if header.get("field") in ("base", "state"):
            fields[header["field"]] = bytes(content)
        else:
            entries.append(bytes(content))
            headers.append(header)
    fields["parameters_list"] = entries
    for name, field in (("weight", "weights"), ("id", "client_ids")):
        if any(name in header for header in headers):
            fields[field] = [header.get(name) for header in headers]
    return fields


def _read_header(view: memoryview, at: int) -> tuple[dict[str, Any], int]:
    (length,) = struct.unpack("<I", _take(view, at, 4))
    if length > _FRAME_HEADER_BYTES_MAX:
        raise _broken(f"a header of {length} bytes; the limit is {_FRAME_HEADER_BYTES_MAX}")
    try:
        header = parse_object(bytes(_take(view, at + 4, length)))
    except ParticipantError:
        raise _broken("a header that is not a JSON object") from None
    count = header.get("bytes")
    if type(count) is not int or count < 0:
        raise _broken("a header without its number of bytes")
    return header, at + 4 + length


def _take(view: memoryview, at: int, count: int) -> memoryview:
    part = view[at : at + count]
    if len(part) != count:
        raise _broken(f"an end {count - len(part)} bytes too soon")
    return part


def _broken(what: str) -> ParticipantError:
    return ParticipantError("VALIDATION_ERROR", f"The frames of the body are invalid: there is {what}.")
