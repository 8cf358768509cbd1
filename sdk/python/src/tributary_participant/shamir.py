"""Splits a secret into shares (Shamir 1979 over GF(2^8), byte by byte): any `threshold` shares give the secret, fewer reveal nothing."""

from __future__ import annotations

import secrets
from functools import reduce

_SHARES_MAX = 255
# x^8 + x^4 + x^3 + x + 1, as in AES.
_POLYNOMIAL = 0x11B


def split_secret(secret: bytes, *, shares: int, threshold: int) -> list[bytes]:
    """The shares at the points 1, 2, ..."""
    if not 1 <= shares <= _SHARES_MAX:
        raise ValueError(f"there are 1 to {_SHARES_MAX} shares, not {shares}")
    if not 1 <= threshold <= shares:
        raise ValueError(f"a threshold is 1 to the number of shares, {shares}, not {threshold}")
    coefficients = [secrets.token_bytes(len(secret)) for _ in range(threshold - 1)]
    return [_values_at(point, secret, coefficients) for point in range(1, shares + 1)]


def _values_at(point: int, constants: bytes, coefficients: list[bytes]) -> bytes:
    """The value of each byte's polynomial, by Horner's rule from the highest power down."""
    times = bytes(_multiply(value, point) for value in range(256))
    return bytes(
        reduce(lambda total, row: times[total ^ row[place]], reversed(coefficients), 0) ^ constant
        for place, constant in enumerate(constants)
    )


def _multiply(left: int, right: int) -> int:
    product = 0
    for bit in range(8):
        if right >> bit & 1:
            product ^= left
        left <<= 1
        if left & 0x100:
            left ^= _POLYNOMIAL
    return product
