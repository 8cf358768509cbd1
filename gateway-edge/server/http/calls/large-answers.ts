import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { newId } from "../../../../common/ids.ts";
import type { Random } from "../../../../common/random.ts";
import type { StoredContent } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Owner, RecordStore } from "../../../stored/records/records.ts";

interface LargeAnswerDeps {
  readonly records: AnswerStore;
  readonly clock: Clock;
  readonly random: Random;
}

type AnswerStore = Pick<RecordStore, "commit" | "getContent" | "putContent">;

/** Longer than an Idempotency-Key lasts. */
const LIFE_MS = 25 * 3_600_000;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;

/**
 * Stores the body of an answer as content of the team, for which a message to the control plane is too small. It is encrypted with a key of its
 * own, which is sealed with the rest of the answer. Throws PAYLOAD_TOO_LARGE if the organization's files would exceed their limit.
 */
export async function putLargeAnswer(
  { records, clock, random }: LargeAnswerDeps,
  { owner, pieces }: { owner: Owner; pieces: readonly Uint8Array[] },
): Promise<StoredContent> {
  const id = newId("answer", { clock, random });
  const [key, nonce, createdAtMs] = [random.bytes(KEY_BYTES), random.bytes(NONCE_BYTES), clock.now()];
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const encrypted = (async function* () {
    for (const piece of pieces) yield cipher.update(piece);
    yield cipher.final();
  })();
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  await records.putContent(owner.teamId, id, encrypted, { bytes });
  await records.commit(owner, [{ type: "create", kind: "answer", id, body: {}, createdAtMs, expiresAtMs: createdAtMs + LIFE_MS }]);
  return { id, key, nonce, tag: cipher.getAuthTag() };
}

/** The body as it is read. Throws at its end if it is not what was stored. */
export async function readLargeAnswer(
  records: AnswerStore,
  teamId: string,
  { id, key, nonce, tag }: StoredContent,
): Promise<AsyncIterable<Uint8Array>> {
  const encrypted = await records.getContent(teamId, id);
  if (!encrypted) throw new AppError("SERVER_ERROR", "The stored answer of this Idempotency-Key is gone. Use a new key.");
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAuthTag(tag);
  return (async function* () {
    for await (const chunk of encrypted) yield decipher.update(chunk);
    yield decipher.final();
  })();
}
