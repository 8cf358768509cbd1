"""The routes. A trailing slash and the case of letters make no difference, as on the trainer node."""

from __future__ import annotations

import re
from urllib.parse import unquote

from .errors import ParticipantError
from .functions import OPERATIONS
from .secure_steps import STEPS

CALLS = {f"{prefix}/{name}": name for name in (*OPERATIONS, "call") for prefix in ("", "/v1")}
# The ids of `/v1/secure/{round}/{client}/{step}` are left out of the route: they are not names in metrics.
SECURE = {f"/v1/secure/{step}": step for step in STEPS}
_SECURE_PATH = re.compile(rf"/v1/secure/([^/]+)/([^/]+)/({'|'.join(STEPS)})", re.IGNORECASE)
# The id of `/v1/rounds/{round}/close` is left out, too.
ROUND = "/v1/rounds/close"
_ROUND_PATH = re.compile(r"/v1/rounds/([^/]+)/close", re.IGNORECASE)
_ROUND_ID_MAX = 256
OPEN_PAGES = ("/health", "/ready")
PAGES = (*OPEN_PAGES, "/v1/info", "/metrics")


def route_of(target: str) -> str:
    path = _path_of(target)
    secure = _SECURE_PATH.fullmatch(path)
    if _ROUND_PATH.fullmatch(path):
        return ROUND
    return (path if secure is None else f"/v1/secure/{secure[3]}").lower()


def secure_place_of(target: str) -> tuple[str, str]:
    """The round and the client of a step of a secure sum."""
    secure = _SECURE_PATH.fullmatch(_path_of(target))
    if secure is None:
        raise ParticipantError("NOT_FOUND", "The path must be /v1/secure/{round}/{client}/{step}.")
    return unquote(secure[1]), unquote(secure[2])


def round_of(target: str) -> str:
    """The round of a call that closes one."""
    found = _ROUND_PATH.fullmatch(_path_of(target))
    if found is None:
        raise ParticipantError("NOT_FOUND", "The path must be /v1/rounds/{round_id}/close.")
    round_id = unquote(found[1])
    if len(round_id) > _ROUND_ID_MAX:
        raise ParticipantError("VALIDATION_ERROR", f"round_id must have at most {_ROUND_ID_MAX} characters", details={"field": "round_id"})
    return round_id


def name_in_metrics(route: str) -> str:
    """Unknown paths must not become metric labels."""
    return route if route in CALLS or route in SECURE or route == ROUND or route in PAGES else "other"


def allowed_methods(route: str) -> tuple[str, ...]:
    if route in CALLS or route in SECURE:
        return ("POST",)
    if route == ROUND:
        return ("POST", "DELETE")
    if route in PAGES:
        return ("GET", "HEAD")
    raise ParticipantError("NOT_FOUND", f"There is no route {route[:200]}. GET /v1/info describes this participant.")


def _path_of(target: str) -> str:
    path = target.partition("?")[0].partition("#")[0]
    return path[:-1] if path.endswith("/") and len(path) > 1 else path
