"""Keys, masks and sealed shares of secure aggregation, byte for byte those of the trainer node. They need the packages cryptography and numpy."""

from __future__ import annotations

import importlib.util
import secrets
from dataclasses import dataclass
from typing import Any

KEY_BYTES = 32
_NONCE_BYTES, _TAG_BYTES = 12, 16
_SEALED_BYTES = _NONCE_BYTES + 1 + 2 * KEY_BYTES + _TAG_BYTES
_WORDS_AT_A_TIME = 1 << 20


def can_mask() -> bool:
    """Whether the packages that masks need are installed: `pip install tributary-participant[masks]`."""
    return all(importlib.util.find_spec(name) is not None for name in ("cryptography", "numpy"))


def public_key_of(secret: bytes) -> bytes:
    """The X25519 public key of a secret; any 32 bytes are valid."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def agreed_key(secret: bytes, public_key: bytes, purpose: str) -> bytes:
    """A key that only the two participants can compute (X25519, then HKDF-SHA-256). `purpose` separates the uses of one pair."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    shared = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(public_key))
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose.encode()).derive(shared)


def apply_mask(words: Any, seed: bytes, sign: int) -> None:
    """words += or -= the words that a seed expands to (AES-256 in counter mode, little-endian), modulo 2^32, in place."""
    import numpy
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    stream = Cipher(AES(seed), CTR(bytes(16))).encryptor()
    for start in range(0, len(words), _WORDS_AT_A_TIME):
        part = words[start : start + _WORDS_AT_A_TIME]
        mask = numpy.frombuffer(stream.update(bytes(4 * len(part))), "<u4")
        (numpy.add if sign > 0 else numpy.subtract)(part, mask, out=part)


@dataclass(frozen=True)
class SharePair:
    """One participant's shares for another, which pass through a server that must not read them."""

    at: int
    of_own_mask: bytes
    of_pair_key: bytes


def seal_shares(shares: SharePair, *, key: bytes, context: str) -> bytes:
    """Encrypts shares with AES-256-GCM. `context` (round, sender and receiver) is authenticated, so that the server cannot redirect them."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE_BYTES)
    body = bytes([shares.at]) + shares.of_own_mask + shares.of_pair_key
    return nonce + AESGCM(key).encrypt(nonce, body, context.encode())


def open_shares(sealed: bytes, *, key: bytes, context: str) -> SharePair:
    """Decrypts shares. Raises ValueError if they were changed or sealed for another context."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(sealed) != _SEALED_BYTES:
        raise ValueError("sealed shares of a wrong length")
    try:
        body = AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context.encode())
    except InvalidTag:
        raise ValueError("sealed shares were changed, or are meant for another participant") from None
    return SharePair(body[0], body[1 : 1 + KEY_BYTES], body[1 + KEY_BYTES :])
