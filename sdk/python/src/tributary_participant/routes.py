"""The routes. A trailing slash and the case of letters make no difference, as on the trainer node."""

from __future__ import annotations

from .errors import ParticipantError
from .functions import OPERATIONS

CALLS = {f"{prefix}/{name}": name for name in (*OPERATIONS, "call") for prefix in ("", "/v1")}
OPEN_PAGES = ("/health", "/ready")
PAGES = (*OPEN_PAGES, "/v1/info", "/metrics")


def route_of(target: str) -> str:
    path = target.partition("?")[0].partition("#")[0]
    return (path[:-1] if path.endswith("/") and len(path) > 1 else path).lower()


def name_in_metrics(route: str) -> str:
    """Unknown paths must not become metric labels."""
    return route if route in CALLS or route in PAGES else "other"


def allowed_methods(route: str) -> tuple[str, ...]:
    if route in CALLS:
        return ("POST",)
    if route in PAGES:
        return ("GET", "HEAD")
    raise ParticipantError("NOT_FOUND", f"There is no route {route[:200]}. GET /v1/info describes this participant.")
