import { z } from "zod";
import type { Share } from "../compute/privacy/shamir.ts";
import { KEY_BYTES } from "./mask-keys.ts";
import type { Help, Introduction } from "./secure-sum.ts";

// The messages of a secure sum in HTTP bodies and files: JSON, with bytes as base64.

/** The id of a round or participant. */
export const placeId = z.string().min(1).max(200);
/** A sealed share in base64. */
export const sealedShare = z.base64().max(400);
const secret = z.base64().refine((text) => Buffer.from(text, "base64").byteLength === KEY_BYTES, `must be ${KEY_BYTES} bytes as base64`);

/** An introduction as JSON. */
export const introductionText = z.strictObject({ id: placeId, pair_key: secret, share_key: secret, mask_hash: secret });
/** A checked introduction as JSON. */
export type IntroductionText = z.infer<typeof introductionText>;

const shareText = z.strictObject({ at: z.int().min(1).max(255), bytes: secret });
/** A participant's help as JSON. */
export const helpText = z.strictObject({ own_masks: z.record(placeId, shareText), pair_secrets: z.record(placeId, shareText) });
/** A checked help as JSON. */
export type HelpText = z.infer<typeof helpText>;

/** Decodes base64 that was checked before. */
export const fromBase64 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));
/** Encodes bytes as base64. */
export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/** An introduction as its JSON form. */
export function writeIntroduction({ id, pairKey, shareKey, maskHash }: Introduction): IntroductionText {
  return { id, pair_key: toBase64(pairKey), share_key: toBase64(shareKey), mask_hash: toBase64(maskHash) };
}

/** An introduction from its JSON form. */
export function readIntroduction({ id, pair_key, share_key, mask_hash }: IntroductionText): Introduction {
  return { id, pairKey: fromBase64(pair_key), shareKey: fromBase64(share_key), maskHash: fromBase64(mask_hash) };
}

/** A participant's help as its JSON form. */
export function writeHelp({ ownMasks, pairSecrets }: Help): HelpText {
  const write = (shares: ReadonlyMap<string, Share>) =>
    Object.fromEntries([...shares].map(([id, { at, bytes }]) => [id, { at, bytes: toBase64(bytes) }]));
  return { own_masks: write(ownMasks), pair_secrets: write(pairSecrets) };
}

/** A participant's help from its JSON form. */
export function readHelp({ own_masks, pair_secrets }: HelpText): Help {
  const read = (shares: HelpText["own_masks"]) =>
    new Map(Object.entries(shares).map(([id, { at, bytes }]) => [id, { at, bytes: fromBase64(bytes) }]));
  return { ownMasks: read(own_masks), pairSecrets: read(pair_secrets) };
}
