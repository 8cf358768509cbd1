import { hash } from "node:crypto";
import { joinShares, type Share, splitSecret } from "../compute/privacy/shamir.ts";
import { agreedKey, KEY_BYTES, maskKeysOf } from "./mask-keys.ts";
import { applyMask } from "./mask-words.ts";
import { openShares, type SharePair, sealShares } from "./sealed-shares.ts";

/**
 * A sum of vectors that reveals no single vector (Bonawitz et al. 2017, against a server that is honest but curious).
 * Each vector goes out under two masks: one for every pair, which cancel in the sum, and one of its own, which the server can take off only
 * with the help of `threshold` participants. Where a participant drops out, they help with its pair key instead, never with both: so a
 * vector that was late stays hidden. Pure functions; the coordinator passes the messages between these steps:
 *   1 each participant sends an `introduction`; 2 each sends `sharesFor` the others; 3 each sends `maskedWords`;
 *   4 the server names who is in the sum, the participants send `helpFor` it, and the server takes the masks off by `removeMasks`.
 */
export interface Introduction {
  readonly id: string;
  /** Public key for the masks of pairs. */
  readonly pairKey: Uint8Array;
  /** Public key for sealing shares. */
  readonly shareKey: Uint8Array;
  /** SHA-256 of the participant's own mask, which detects false shares. */
  readonly maskHash: Uint8Array;
}

/** A participant's secrets of one round, to be discarded after it. */
export interface RoundSecrets {
  readonly round: string;
  readonly id: string;
  readonly pairSecret: Uint8Array;
  readonly shareSecret: Uint8Array;
  readonly ownMask: Uint8Array;
}

type RandomBytes = (count: number) => Uint8Array;

/** New secrets of a participant for one round. */
export function newSecrets({ round, id, randomBytes }: { round: string; id: string; randomBytes: RandomBytes }): RoundSecrets {
  const [pairSecret, shareSecret, ownMask] = [randomBytes(KEY_BYTES), randomBytes(KEY_BYTES), randomBytes(KEY_BYTES)];
  return { round, id, pairSecret, shareSecret, ownMask };
}

/** The public part of a participant's secrets. */
export function introduction({ id, pairSecret, shareSecret, ownMask }: RoundSecrets): Introduction {
  return { id, pairKey: maskKeysOf(pairSecret).publicKey, shareKey: maskKeysOf(shareSecret).publicKey, maskHash: hashOf(ownMask) };
}

const hashOf = (secret: Uint8Array): Uint8Array => new Uint8Array(hash("sha256", secret, "buffer"));

/** Sealed shares of both secrets for every participant, including itself, by id. */
export function sharesFor(
  secrets: RoundSecrets,
  everybody: readonly Introduction[],
  { threshold, randomBytes }: { threshold: number; randomBytes: RandomBytes },
): Map<string, Uint8Array> {
  const people = inOrder(everybody);
  // With a threshold of at most half, a server could let one half help with the one secret and the other half with the other.
  if (!(threshold > people.length / 2))
    throw new RangeError(`a threshold of ${threshold} is not more than half of ${people.length} participants`);
  const options = { shares: people.length, threshold, randomBytes };
  const [ownMask, pairKey] = [splitSecret(secrets.ownMask, options), splitSecret(secrets.pairSecret, options)];
  return new Map(
    people.map(({ id, shareKey }, index) => {
      const pair: SharePair = { at: index + 1, ofOwnMask: (ownMask[index] as Share).bytes, ofPairKey: (pairKey[index] as Share).bytes };
      return [id, sealShares(pair, { ...sealOf(secrets, { id, shareKey }, "out"), randomBytes })];
    }),
  );
}

/** Adds both masks to the words. `partners` are all participants whose shares arrived, with or without itself. */
export function maskedWords(words: Uint32Array, secrets: RoundSecrets, partners: readonly Introduction[]): Uint32Array<ArrayBuffer> {
  const masked = Uint32Array.from(words);
  applyMask(masked, secrets.ownMask, 1);
  for (const partner of partners) if (partner.id !== secrets.id) applyPairMask(masked, secrets, partner, 1);
  return masked;
}

/**
 * What one participant reveals: a share of the own mask of every participant in the sum, and a share of the pair key of every one that
 * dropped out.
 */
export interface Help {
  readonly ownMasks: ReadonlyMap<string, Share>;
  readonly pairSecrets: ReadonlyMap<string, Share>;
}

/** The help of one participant. `everybody` are those whose masks are in its vector; `received` has the sealed shares that they sent to it, by sender. */
export function helpFor(
  secrets: RoundSecrets,
  {
    everybody,
    received,
    inSum,
    threshold,
  }: { everybody: readonly Introduction[]; received: ReadonlyMap<string, Uint8Array>; inSum: readonly string[]; threshold: number },
): Help {
  // Ids without a vector would make the sum look larger than it is.
  const stranger = inSum.find((id) => !everybody.some((partner) => partner.id === id));
  if (stranger !== undefined)
    throw new RangeError(`${stranger} is not a partner of this participant in the round, so it is not in the sum`);
  // A sum of few vectors would reveal too much about each.
  if (new Set(inSum).size < threshold) throw new RangeError(`a sum of ${inSum.length} participants is below the threshold of ${threshold}`);
  const ownMasks = new Map<string, Share>();
  const pairSecrets = new Map<string, Share>();
  for (const sender of everybody) {
    const sealed = received.get(sender.id);
    if (!sealed) continue;
    const { at, ofOwnMask, ofPairKey } = openShares(sealed, sealOf(secrets, sender, "in"));
    if (inSum.includes(sender.id)) ownMasks.set(sender.id, { at, bytes: ofOwnMask });
    else pairSecrets.set(sender.id, { at, bytes: ofPairKey });
  }
  return { ownMasks, pairSecrets };
}

/** What unmasking a sum requires. */
export interface Unmasking {
  readonly round: string;
  readonly everybody: readonly Introduction[];
  readonly help: readonly Help[];
  readonly threshold: number;
}

/** Removes the masks of a sum of masked vectors, in place. Throws if too few participants helped, or if one helped with a false share. */
export function removeMasks(
  total: Uint32Array,
  { round, everybody, help, threshold, inSum }: Unmasking & { inSum: ReadonlySet<string> },
): void {
  const survivors = everybody.filter(({ id }) => inSum.has(id));
  for (const { id, maskHash } of survivors) {
    const shares = help.map(({ ownMasks }) => ownMasks.get(id));
    const ownMask = joined(shares, { threshold, whose: id });
    if (!Buffer.from(hashOf(ownMask)).equals(maskHash)) throw new FalseShare(id, "mask");
    applyMask(total, ownMask, -1);
  }
  for (const dropped of everybody) {
    const shares = help.map(({ pairSecrets }) => pairSecrets.get(dropped.id));
    // A participant that dropped out before its shares arrived has no part in any mask.
    if (inSum.has(dropped.id) || shares.every((share) => share === undefined)) continue;
    const pairSecret = joined(shares, { threshold, whose: dropped.id });
    if (!Buffer.from(maskKeysOf(pairSecret).publicKey).equals(dropped.pairKey)) throw new FalseShare(dropped.id, "key");
    for (const survivor of survivors) applyPairMask(total, { round, id: dropped.id, pairSecret }, survivor, 1);
  }
}

class FalseShare extends Error {
  constructor(whose: string, secret: "mask" | "key") {
    super(`the shares of ${whose} do not give its ${secret}: one of them is false`);
    this.name = "FalseShare";
  }
}

/** The participant with the lower id of a pair adds the mask, the other subtracts it. */
function applyPairMask(
  words: Uint32Array,
  own: Pick<RoundSecrets, "round" | "id" | "pairSecret">,
  other: Introduction,
  sign: 1 | -1,
): void {
  const seed = agreedKey({ secret: own.pairSecret, publicKey: other.pairKey, purpose: `tributary mask ${own.round}` });
  applyMask(words, seed, own.id < other.id ? sign : (-sign as 1 | -1));
}

function joined(shares: readonly (Share | undefined)[], { threshold, whose }: { threshold: number; whose: string }): Uint8Array {
  const given = shares.filter((share) => share !== undefined);
  if (given.length < threshold) throw new RangeError(`${given.length} shares of ${whose} are fewer than the threshold of ${threshold}`);
  return joinShares(given.slice(0, threshold));
}

function sealOf(own: RoundSecrets, other: Pick<Introduction, "id" | "shareKey">, way: "in" | "out"): { key: Uint8Array; context: string } {
  const [from, to] = way === "out" ? [own.id, other.id] : [other.id, own.id];
  const key = agreedKey({ secret: own.shareSecret, publicKey: other.shareKey, purpose: `tributary shares ${own.round}` });
  return { key, context: JSON.stringify([own.round, from, to]) };
}

function inOrder(everybody: readonly Introduction[]): Introduction[] {
  if (new Set(everybody.map(({ id }) => id)).size !== everybody.length) throw new RangeError("two participants have the same id");
  return everybody.toSorted((left, right) => (left.id < right.id ? -1 : 1));
}
