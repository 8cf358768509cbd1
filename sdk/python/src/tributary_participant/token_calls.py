"""HTTP calls with a token, which goes to the address that was set and to no other."""

from __future__ import annotations

from typing import Any
from urllib import request


class _NoRedirects(request.HTTPRedirectHandler):
    """A redirect is an error: urllib sends all headers to the new address, whatever its host, and makes a POST a GET."""

    def redirect_request(self, *_given: Any) -> None:
        return None


def open_call(call: request.Request, seconds: float) -> Any:
    """As urlopen, but that redirects are HTTPErrors."""
    return request.build_opener(_NoRedirects).open(call, timeout=seconds)
