"""Access control. Without a token, the default allows calls from this machine only."""

from __future__ import annotations

import hmac
import ipaddress
from email.message import Message

from .errors import ParticipantError
from .settings import Settings
from .web_pages import refuse_other_names, refuse_web_pages


def require_access(settings: Settings, *, address: str, headers: Message) -> None:
    """Web pages are refused, and calls that need neither token nor signature also if they are to a name that may be a web page's."""
    refuse_web_pages(headers)
    if settings.token is not None:
        if not any(hmac.compare_digest(_octets(key), _octets(settings.token)) for key in _keys_of(headers)):
            raise ParticipantError("UNAUTHORIZED", "A token is required as x-gw-api-key, x-api-key or Authorization: Bearer.")
        return
    if settings.secret is None:
        refuse_other_names(headers, settings.host_names)
    if settings.auth == "loopback" and not is_loopback(address):
        raise ParticipantError("UNAUTHORIZED", "Only calls from the participant's own machine are accepted. Its operator can set a token.")


def is_owner(settings: Settings, address: str, headers: Message) -> bool:
    """Whether a caller gets messages of exceptions: it calls from this machine and for no organization, as coordinators do."""
    if settings.exceptions == "all":
        return True
    return is_loopback(address) and "x-gw-tenant" not in headers and "x-forwarded-for" not in headers


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
