import { hash } from "node:crypto";
import { addWords } from "../compute/privacy/fixed-point.ts";
import { joinShares, type Share, splitSecret } from "../compute/privacy/shamir.ts";
import { agreedKey, KEY_BYTES, maskKeysOf } from "./mask-keys.ts";
import { applyMask } from "./mask-words.ts";
import { openShares, type SharePair, sealShares } from "./sealed-shares.ts";

/**
 * A sum of vectors of which nobody sees a single one (Bonawitz et al. 2017, against a server that is curious and keeps to the rules).
 * Each vector goes out under two masks: one for every pair, which cancel in the sum, and one of its own, which the server can take off only
 * with the help of `threshold` participants. Where a participant drops out, they help with its pair key instead, never with both: so a
 * vector that was late stays hidden. Pure functions; who sends what to whom and when is the coordinator's affair:
 *   1 everybody sends an `introduction`; 2 everybody sends `sharesFor` each other; 3 everybody sends `maskedWords`;
 *   4 the server names who is in the sum, the participants send `helpFor` it, and the server takes the masks off by `unmaskedSum`.
 */
export interface Introduction {
  readonly id: string;
  /** For the masks of pairs. */
  readonly pairKey: Uint8Array;
  /** For the shares on their way. */
  readonly shareKey: Uint8Array;
  /** SHA-256 of its own mask: whoever helps to take it off with a false share is found out. */
  readonly maskHash: Uint8Array;
}

/** A participant's secrets of one round; to be thrown away with it. */
export interface RoundSecrets {
  readonly round: string;
  readonly id: string;
  readonly pairSecret: Uint8Array;
  readonly shareSecret: Uint8Array;
  readonly ownMask: Uint8Array;
}

type RandomBytes = (count: number) => Uint8Array;

export function newSecrets({ round, id, randomBytes }: { round: string; id: string; randomBytes: RandomBytes }): RoundSecrets {
  const [pairSecret, shareSecret, ownMask] = [randomBytes(KEY_BYTES), randomBytes(KEY_BYTES), randomBytes(KEY_BYTES)];
  return { round, id, pairSecret, shareSecret, ownMask };
}

export function introduction({ id, pairSecret, shareSecret, ownMask }: RoundSecrets): Introduction {
  return { id, pairKey: maskKeysOf(pairSecret).publicKey, shareKey: maskKeysOf(shareSecret).publicKey, maskHash: hashOf(ownMask) };
}

const hashOf = (secret: Uint8Array): Uint8Array => new Uint8Array(hash("sha256", secret, "buffer"));

/** Shares of both secrets for every participant, itself counted, sealed for each; by id. */
export function sharesFor(
  secrets: RoundSecrets,
  everybody: readonly Introduction[],
  { threshold, randomBytes }: { threshold: number; randomBytes: RandomBytes },
): Map<string, Uint8Array> {
  const people = inOrder(everybody);
  // With fewer than more than half of them, a server could have one half help with the one secret and the other half with the other.
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

/** The words under both masks. `partners` are all whose shares arrived, itself counted or not. */
export function maskedWords(words: Uint32Array, secrets: RoundSecrets, partners: readonly Introduction[]): Uint32Array<ArrayBuffer> {
  const masked = Uint32Array.from(words);
  applyMask(masked, secrets.ownMask, 1);
  for (const partner of partners) if (partner.id !== secrets.id) applyPairMask(masked, secrets, partner, 1);
  return masked;
}

/** What one participant reveals: of everybody in the sum a share of the own mask, of everybody who dropped out one of the pair key. */
export interface Help {
  readonly ownMasks: ReadonlyMap<string, Share>;
  readonly pairSecrets: ReadonlyMap<string, Share>;
}

/** `received` are the sealed shares that the others sent to this participant, by sender. */
export function helpFor(
  secrets: RoundSecrets,
  {
    everybody,
    received,
    inSum,
    threshold,
  }: { everybody: readonly Introduction[]; received: ReadonlyMap<string, Uint8Array>; inSum: readonly string[]; threshold: number },
): Help {
  // A sum of few is nearly a vector of one.
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

/** What it takes to have a sum without its masks. */
export interface Unmasking {
  readonly round: string;
  readonly everybody: readonly Introduction[];
  readonly help: readonly Help[];
  readonly threshold: number;
}

/** The sum of the masked vectors without its masks. Throws where too few helped, or where somebody helped with a false share. */
export function unmaskedSum(masked: ReadonlyMap<string, Uint32Array>, unmasking: Unmasking): Uint32Array<ArrayBuffer> {
  const [first] = masked.values();
  const total = new Uint32Array(first?.length ?? 0);
  for (const words of masked.values()) addWords(total, words);
  takeMasksOff(total, { ...unmasking, inSum: new Set(masked.keys()) });
  return total;
}

/** The same in place, for a sum that was made one vector at a time. */
export function takeMasksOff(
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
    // Whoever left before its shares arrived anywhere has no part in anybody's mask.
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

/** The lower id of a pair adds its mask and the higher takes it away. */
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
