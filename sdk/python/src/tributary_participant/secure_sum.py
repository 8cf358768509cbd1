"""A participant's side of a sum that reveals no single update (Bonawitz et al. 2017), with the messages and masks of the trainer node.

Each update goes out under two kinds of masks: one for every pair of participants, which cancel in the sum, and one of its own, which the
coordinator can remove only with the help of `threshold` participants. If a participant drops out, they help with its pair key instead, never
with both, so that an update that arrives late stays hidden.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .mask_keys import KEY_BYTES, SharePair, agreed_key, apply_mask, open_shares, public_key_of, seal_shares
from .shamir import split_secret

_HALF = 2**31
# Finer steps than these add nothing to a float32.
_FRACTION_BITS_MAX = 40


@dataclass(frozen=True)
class Introduction:
    """The public part of a participant's secrets. `mask_hash` detects false shares of its own mask."""

    id: str
    pair_key: bytes
    share_key: bytes
    mask_hash: bytes


@dataclass(frozen=True)
class RoundSecrets:
    """A participant's secrets of one round, to be discarded after it."""

    round: str
    id: str
    pair_secret: bytes
    share_secret: bytes
    own_mask: bytes

    @classmethod
    def new(cls, round: str, id: str) -> RoundSecrets:
        return cls(round, id, *(secrets.token_bytes(KEY_BYTES) for _ in range(3)))

    def introduction(self) -> Introduction:
        keys = (public_key_of(self.pair_secret), public_key_of(self.share_secret))
        return Introduction(self.id, *keys, hashlib.sha256(self.own_mask).digest())


@dataclass(frozen=True)
class Share:
    at: int
    data: bytes


def shares_for(own: RoundSecrets, everybody: Sequence[Introduction], threshold: int) -> dict[str, bytes]:
    """Sealed shares of both secrets for every participant, including itself, by id."""
    people = sorted(everybody, key=lambda person: _order(person.id))
    if len({person.id for person in people}) != len(people):
        raise ValueError("two participants have the same id")
    # With a threshold of at most half, a server could let one half help with the one secret and the other half with the other.
    if not threshold > len(people) / 2:
        raise ValueError(f"a threshold of {threshold} is not more than half of {len(people)} participants")
    own_mask = split_secret(own.own_mask, shares=len(people), threshold=threshold)
    pair_key = split_secret(own.pair_secret, shares=len(people), threshold=threshold)
    return {
        person.id: seal_shares(SharePair(at + 1, own_mask[at], pair_key[at]), **_seal(own, person, sender=own.id, receiver=person.id))
        for at, person in enumerate(people)
    }


def masked_words(words: Any, own: RoundSecrets, partners: Sequence[Introduction]) -> Any:
    """Adds both kinds of masks to the words. The participant with the lower id of a pair adds the mask, the other subtracts it."""
    masked = words.copy()
    apply_mask(masked, own.own_mask, 1)
    for partner in partners:
        if partner.id != own.id:
            seed = agreed_key(own.pair_secret, partner.pair_key, f"tributary mask {own.round}")
            apply_mask(masked, seed, 1 if _order(own.id) < _order(partner.id) else -1)
    return masked


def help_for(
    own: RoundSecrets,
    *,
    everybody: Sequence[Introduction],
    partners: Collection[str],
    received: Mapping[str, bytes],
    in_sum: Collection[str],
    threshold: int,
) -> tuple[dict[str, Share], dict[str, Share]]:
    """A share of the own mask of every participant in the sum, and a share of the pair key of every one that dropped out."""
    # Invented ids would count toward the threshold, and the real participants as dropped out.
    unknown = sorted(set(in_sum) - set(partners))
    if unknown:
        raise ValueError(f'"{unknown[0]}" is not a partner of this participant in the masked step, so no sum with it is unmasked')
    # A sum of few updates would reveal too much about each.
    if len(set(in_sum)) < threshold:
        raise ValueError(f"a sum of {len(in_sum)} participants is below the threshold of {threshold}")
    own_masks: dict[str, Share] = {}
    pair_secrets: dict[str, Share] = {}
    for sender in everybody:
        sealed = received.get(sender.id)
        if not sealed:
            continue
        shares = open_shares(sealed, **_seal(own, sender, sender=sender.id, receiver=own.id))
        if sender.id in in_sum:
            own_masks[sender.id] = Share(shares.at, shares.of_own_mask)
        else:
            pair_secrets[sender.id] = Share(shares.at, shares.of_pair_key)
    return own_masks, pair_secrets


def fraction_bits_for(*, clients: int, limit: float) -> int:
    """The finest steps for which the sum of all clients' values of at most `limit` stays below 2^31."""
    # One step per client is reserved for rounding up. The exponent of a float is the whole part of its logarithm, exactly.
    return min(_FRACTION_BITS_MAX, math.frexp((_HALF - 1 - clients) / (clients * limit))[1] - 1)


def to_words(values: Any, fraction_bits: int) -> Any:
    """Values as whole numbers modulo 2^32, rounded to the nearest step, halves up."""
    import numpy

    scaled = numpy.asarray(values, "f8") * 2.0**fraction_bits
    whole = numpy.floor(scaled)
    return (whole + (scaled - whole >= 0.5)).astype("<i8").astype("<u4")


def _order(id: str) -> bytes:
    """Ids are ordered as JavaScript orders strings: by their UTF-16 units."""
    return id.encode("utf-16-be", "surrogatepass")


def _seal(own: RoundSecrets, other: Introduction, *, sender: str, receiver: str) -> dict[str, Any]:
    key = agreed_key(own.share_secret, other.share_key, f"tributary shares {own.round}")
    return {"key": key, "context": json.dumps([own.round, sender, receiver], separators=(",", ":"), ensure_ascii=False)}
