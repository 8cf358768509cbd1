"""Calls of web pages: a page of another site in the browser of somebody on this machine can reach a participant here."""

from __future__ import annotations

import ipaddress
import re
import socket
from email.message import Message
from typing import NamedTuple

from .errors import ParticipantError

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{0,5}))?", re.ASCII)
_ORIGIN = re.compile(r"(https?)://(.+)", re.ASCII)
_USUAL_PORTS = {"http": 80, "https": 443}
_PORT_MAX = 65_535


class _Place(NamedTuple):
    name: str
    port: int | None
    """None is the usual port of the scheme."""


def refuse_web_pages(headers: Message) -> None:
    """A web page of another site can send a POST to this machine without a preflight, and its body could be unpickled."""
    site = headers.get("sec-fetch-site", "").strip().lower()
    if site in ("cross-site", "same-site") or not _has_own_origin(headers):
        raise ParticipantError("FORBIDDEN", "Requests from web pages of other sites are refused.")


def refuse_other_names(headers: Message, host_names: tuple[str, ...]) -> None:
    """
    A web page can let its own name resolve to this machine (DNS rebinding): its calls come from loopback and its Origin equals Host. Only the
    name tells them from calls of the operator.
    """
    place = _called_as(headers)
    if place is not None and (_is_of_this_machine(place.name) or place.name in {name.lower() for name in host_names}):
        return
    raise ParticipantError(
        "FORBIDDEN",
        "Without a token or signature this participant can be called as 127.0.0.1 or localhost only. "
        "Its operator can list further names in TRAINER_HOST_NAMES.",
    )


def _has_own_origin(headers: Message) -> bool:
    """Whether a call is of no web page, or of one under the name and port by which it reaches this participant."""
    if "origin" not in headers:
        return True
    # Two of them are no origin.
    origin = _ORIGIN.fullmatch(", ".join(headers.get_all("origin", [])).strip().lower())
    own = _called_as(headers)
    return own is not None and origin is not None and _place_of(origin[2], _USUAL_PORTS[origin[1]]) == own


def _called_as(headers: Message) -> _Place | None:
    return _place_of(headers.get("host", "").strip().lower(), _USUAL_PORTS["http"])


def _place_of(authority: str, usual_port: int) -> _Place | None:
    found = _AUTHORITY.fullmatch(authority)
    name = found and _same_for_same_address(found[1])
    if not found or not name:
        return None
    port = int(found[2] or usual_port)
    return _Place(name, None if port == usual_port else port) if port <= _PORT_MAX else None


def _same_for_same_address(name: str) -> str | None:
    """One spelling for each address, as of 127.1 and [0:0::1]; other names are as they are."""
    if name.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(name[1:-1])}]"
        except ValueError:
            return None
    try:
        return str(ipaddress.IPv4Address(socket.inet_aton(name.removesuffix("."))))
    except OSError:
        return name


def _is_of_this_machine(name: str) -> bool:
    plain = name.removesuffix(".")
    if plain == "localhost" or plain.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(plain.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    # 0.0.0.0 and :: reach this machine, too, and are not names.
    return bool((mapped or address).is_loopback or address.is_unspecified)
