"""Reads a request body with limits on its announced and actual size."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from email.errors import FirstHeaderLineIsContinuationDefect, MissingHeaderBodySeparatorDefect
from email.message import Message
from typing import Protocol

from .errors import ParticipantError
from .slots import Reservation

_PIECE_BYTES = 256 * 1024
_LINE_BYTES_MAX = 1024
_DISCARD_SECONDS = 10.0
_DISCARD_BYTES = 65_536
_TRAILERS_MAX = 100
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


class Source(Protocol):
    def read1(self, size: int = ..., /) -> bytes: ...

    def readline(self, size: int = ..., /) -> bytes: ...


def refuse_malformed_headers(headers: Message) -> None:
    """The parser treats everything after an invalid header line as a body, so a Content-Length there would be overlooked."""
    if _is_malformed(headers):
        raise ParticipantError("MALFORMED_REQUEST", "The headers cannot be read.")
    if len(headers.get_all("host", [])) > 1:
        # A proxy before this participant may have routed the request by another one than is read here.
        raise ParticipantError("MALFORMED_REQUEST", "The request has more than one Host header.")


def has_body(headers: Message) -> bool:
    return _is_malformed(headers) or "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _is_malformed(headers: Message) -> bool:
    return any(isinstance(defect, (MissingHeaderBodySeparatorDefect, FirstHeaderLineIsContinuationDefect)) for defect in headers.defects)


def read_body(
    source: Source, headers: Message, *, bytes_max: int, reservation: Reservation, send_continue: Callable[[], None]
) -> bytearray:
    length = _announced_length(headers)
    if length is not None and length > bytes_max:
        raise _too_large(bytes_max, length)
    if headers.get("expect", "").strip().lower() == "100-continue":
        send_continue()
    body = bytearray()
    for piece in _chunks(source) if length is None else _exactly(source, length):
        if len(body) + len(piece) > bytes_max:
            raise _too_large(bytes_max, len(body) + len(piece))
        reservation.grow(len(piece))
        body += piece
    return body


def discard_rest(connection: socket.socket) -> None:
    """Reads and discards the rest of a refused body for a while, because closing a connection with unread bytes discards the answer."""
    until = time.monotonic() + _DISCARD_SECONDS
    try:
        connection.shutdown(socket.SHUT_WR)
        while (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(_DISCARD_BYTES):
                return
    except OSError:
        return


def _announced_length(headers: Message) -> int | None:
    """None for a chunked body. Two lengths, or a length with chunks, enable request smuggling, so they are refused."""
    lengths = headers.get_all("content-length", [])
    codings = headers.get_all("transfer-encoding", [])
    if codings:
        if lengths or [coding.strip().lower() for coding in codings] != ["chunked"]:
            raise ParticipantError("MALFORMED_REQUEST", "Transfer-Encoding must be chunked alone, without a Content-Length.")
        return None
    if not lengths:
        return 0
    length = lengths[0].strip(" \t")
    if len(lengths) > 1 or not _LENGTH.fullmatch(length):
        raise ParticipantError("MALFORMED_REQUEST", "Content-Length must be one whole number.")
    return int(length)


def _exactly(source: Source, count: int) -> Iterator[bytes]:
    missing = count
    while missing > 0:
        piece = _within_idle(source.read1, min(missing, _PIECE_BYTES))
        if not piece:
            raise ParticipantError("MALFORMED_REQUEST", f"The body ended {missing} bytes before its Content-Length.")
        missing -= len(piece)
        yield piece


def _chunks(source: Source) -> Iterator[bytes]:
    while True:
        size, _, _extension = _line(source).partition(b";")
        if not _CHUNK_SIZE.fullmatch(size.strip(b" \t")):
            raise _broken_chunks()
        count = int(size, 16)
        if count == 0:
            break
        yield from _exactly(source, count)
        if _line(source) != b"":
            raise _broken_chunks()
    for _ in range(_TRAILERS_MAX):
        if _line(source) == b"":
            return
    raise _broken_chunks()


def _line(source: Source) -> bytes:
    line = _within_idle(source.readline, _LINE_BYTES_MAX)
    if not line.endswith(b"\r\n"):
        raise _broken_chunks()
    return line[:-2]


def _within_idle(read: Callable[[int], bytes], size: int) -> bytes:
    try:
        return read(size)
    except TimeoutError:
        raise ParticipantError("BODY_TIMEOUT", "The sender of the body paused for too long.") from None


def _too_large(limit: int, size: int) -> ParticipantError:
    message = f"The body has {size} bytes or more; the limit is {limit}."
    return ParticipantError("PAYLOAD_TOO_LARGE", message, details={"limit_bytes": limit, "size_bytes": size})


def _broken_chunks() -> ParticipantError:
    return ParticipantError("MALFORMED_REQUEST", "The chunked encoding of the body is invalid.")
