"""Every error of a call with its HTTP status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# The kinds of the trainer node. `code` equals the kind unless the pair names another code.
_ANSWERS: Mapping[str, tuple[int, str | None]] = {
    "MALFORMED_REQUEST": (400, "VALIDATION_ERROR"),
    "MALFORMED_JSON": (400, "VALIDATION_ERROR"),
    "UNAUTHORIZED": (401, None),
    "FORBIDDEN": (403, None),
    "NOT_FOUND": (404, None),
    "DATASET_NOT_FOUND": (404, None),
    "BLOB_NOT_FOUND": (404, None),
    "METHOD_NOT_ALLOWED": (405, None),
    "BODY_TIMEOUT": (408, "TIMEOUT"),
    "ROUND_CLOSED": (409, None),
    "NOT_READY": (409, None),
    "BASE_MISMATCH": (409, None),
    "IDEMPOTENCY_CONFLICT": (409, None),
    "PAYLOAD_TOO_LARGE": (413, None),
    "UNSUPPORTED_PARAMETERS": (415, None),
    "VALIDATION_ERROR": (422, None),
    "INVALID_BASE64": (422, None),
    "SHAPE_MISMATCH": (422, None),
    "DTYPE_MISMATCH": (422, None),
    "NON_FINITE": (422, None),
    "EMPTY_LIST": (422, None),
    "EMPTY_DATASET": (422, None),
    "DATASET_REQUIRED": (422, None),
    "TOO_FEW_CLIENTS": (422, None),
    "SERVER_ERROR": (500, None),
    "FUNCTION_ERROR": (500, None),
    "NOT_REGISTERED": (501, None),
    "BUSY": (503, None),
    "DRAINING": (503, None),
    "TIMEOUT": (504, None),
}


class ParticipantError(Exception):
    """An error answer. Registered functions may raise it, too: its kind determines the HTTP status."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_seconds: int | None = None,
        exception: str | None = None,
    ) -> None:
        if kind not in _ANSWERS:
            raise ValueError(f"{kind!r} is not a kind of error; the kinds are {', '.join(_ANSWERS)}")
        super().__init__(message)
        self.kind = kind
        self.message = str(message)
        self.details = details
        self.retry_after_seconds = retry_after_seconds
        # The type of an exception that a function did not intend for the caller. Its message may contain rows of private data.
        self.exception = exception

    @property
    def status(self) -> int:
        return _ANSWERS[self.kind][0]

    @property
    def code(self) -> str:
        return _ANSWERS[self.kind][1] or self.kind

    def body(self, *, is_for_owner: bool) -> dict[str, Any]:
        """The fields of the answer. Other callers than the owner get the type of a function's exception only."""
        shown = self.message
        if self.exception is not None and not is_for_owner:
            shown = f"The function failed: {self.exception}. Its message is in the log of the participant."
        details = {**(self.details or {}), **({} if self.exception is None else {"exception": self.exception})}
        return {"error": shown, "code": self.code, **({"details": details} if details and _is_json(details) else {})}


def _is_json(value: Any) -> bool:
    """A function's details may contain anything; values that JSON cannot represent must not break the answer."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


class CallCancelled(BaseException):
    """Raised inside a function when its client disconnects or its deadline passes. `except Exception` does not catch it."""
