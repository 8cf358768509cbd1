"""Strict JSON: UTF-8, no NaN, limited nesting."""

from __future__ import annotations

import json
import re
from typing import Any

from .errors import ParticipantError

DEPTH_MAX = 64

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_TEXT = re.compile(rb'"[^"]*"')
_OBJECTS_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'[]{}"')


def parse_object(body: bytes | bytearray) -> dict[str, Any]:
    """Parses a body: 400 if it is not JSON, 422 if it is not an object."""
    if len(body) == 0:
        raise ParticipantError("MALFORMED_JSON", "The body is empty; send a JSON object.")
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        # The decoder's message may quote the body, so it is not repeated.
        raise ParticipantError("MALFORMED_JSON", "The body is not JSON.") from None
    if _deeper_than(body, DEPTH_MAX):
        raise _too_deep()
    if not isinstance(value, dict):
        raise ParticipantError("VALIDATION_ERROR", "The body must be a JSON object.")
    return value


def _deeper_than(text: bytes | bytearray, depth_max: int) -> bool:
    """Whether valid JSON is nested too deeply. Each pass removes the innermost pairs, instead of reading byte by byte in Python."""
    if text.count(b"[") + text.count(b"{") <= depth_max:
        return False
    plain = _ESCAPE.sub(b"", text) if b"\\" in text else text
    # Objects count like lists: a pass removes pairs of either kind.
    brackets = _TEXT.sub(b"", plain.translate(None, _NOT_STRUCTURE)).translate(_OBJECTS_AS_LISTS)
    for _ in range(depth_max):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return len(brackets) > 0


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _too_deep() -> ParticipantError:
    return ParticipantError("MALFORMED_JSON", f"The body is nested deeper than {DEPTH_MAX} levels.")
