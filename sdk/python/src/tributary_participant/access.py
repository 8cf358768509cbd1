"""Who may call. The document has no keys for participants, so the default is the safe one: this machine only."""

from __future__ import annotations

import hmac
import ipaddress
from email.message import Message

from .errors import ParticipantError
from .settings import Settings


def refuse_strangers(settings: Settings, *, address: str, headers: Message) -> None:
    if settings.token is not None:
        if not any(hmac.compare_digest(_octets(key), _octets(settings.token)) for key in _keys_of(headers)):
            raise ParticipantError("UNAUTHORIZED", "This participant needs its token, as x-gw-api-key, x-api-key or Authorization: Bearer.")
    elif settings.auth == "loopback" and not is_loopback(address):
        raise ParticipantError("UNAUTHORIZED", "This participant answers its own machine only; its operator can set a token.")


def refuse_web_pages(headers: Message) -> None:
    """A page of another site may send a POST to this machine without asking; what it sends could reach a function that unpickles."""
    if headers.get("sec-fetch-site", "").strip().lower() in ("cross-site", "same-site"):
        raise ParticipantError("FORBIDDEN", "Web pages of other sites are not answered here.")


def is_loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def _keys_of(headers: Message) -> list[str]:
    keys = headers.get_all("x-gw-api-key", []) + headers.get_all("x-api-key", [])
    for value in headers.get_all("authorization", []):
        scheme, _, credentials = value.strip().partition(" ")
        if scheme.lower() == "bearer":
            keys.append(credentials.strip())
    return [key.strip() for key in keys]


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
