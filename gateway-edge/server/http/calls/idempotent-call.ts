import { createHash } from "node:crypto";
import type { Clock } from "../../../../common/clock.ts";
import type { Logger } from "../../../../common/logger.ts";
import type { Random } from "../../../../common/random.ts";
import type { BeginIdempotentCallRequest, StoredAnswer } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../../../access/clients/control-plane.ts";
import { type HeaderList, headerFields } from "../../../calls/header-list.ts";
import type { Owner, RecordStore } from "../../../stored/records/records.ts";
import { putLargeAnswer } from "./large-answers.ts";
import { RecordedAnswer } from "./recorded-answer.ts";

/** The idempotency store of the control plane, and the records for what is too large for it. */
export interface IdempotentDeps {
  readonly access: Pick<ControlPlane["access"], "beginIdempotentCall" | "endIdempotentCall">;
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A call under a client's Idempotency-Key. Without a key all methods do nothing. */
export interface IdempotentCall {
  /** The stored answer of an earlier call with this key: send it and do nothing else. */
  readonly answer: StoredAnswer | undefined;
  /** Whether the call goes on without its client, who will ask again with this key: the answer can still be stored. */
  readonly goesOn: boolean;
  /** Adds bytes to the answer that will be stored. */
  record(bytes: string | Uint8Array): void;
  /** Stores the recorded answer. Must happen before the client's last byte, so that a retry finds it. */
  store(headers: HeaderList, contentType: string): void | Promise<void>;
  /** Frees the key if no answer was stored, so that the call can be retried. */
  close(): void | Promise<void>;
}

const CHAT = "/v1/chat/completions";
const DEADLINE_MS = 2000;
const ATTEMPTS = 3;
const RENEW_MS = 5 * 60_000;
/** A larger body is stored as content of the team's records. */
const MESSAGE_BYTES_MAX = 1024 * 1024;

/** What identifies a call under an Idempotency-Key. */
export interface IdempotentInput {
  readonly key: string | undefined;
  readonly owner: Owner;
  readonly callId: string;
  /** Another API answers the same body in another form. */
  readonly endpoint: string;
  readonly body: Buffer;
  /** The path's model is part of the request. */
  readonly pathModel: string | undefined;
}

/** Throws IDEMPOTENCY_CONFLICT if the key was used with another body, or its call is still running. */
export function beginIdempotentCall(deps: IdempotentDeps, input: IdempotentInput): IdempotentCall | Promise<IdempotentCall> {
  return input.key === undefined ? NOT_IDEMPOTENT : beginUnder(deps, input.key, input);
}

async function beginUnder(deps: IdempotentDeps, key: string, input: IdempotentInput): Promise<IdempotentCall> {
  const { owner, callId } = input;
  const hash = createHash("sha256").update(input.body);
  if (input.pathModel !== undefined) hash.update(`\n${input.pathModel}`);
  // Chats are hashed as in releases without endpoints, so that a call that is repeated during an upgrade finds its answer.
  if (input.endpoint !== CHAT) hash.update(`\n${input.endpoint}`);
  const begin = { keyId: owner.keyId, idempotencyKey: key, callId, bodySha256: hash.digest() };
  const { answer } = await deps.access.beginIdempotentCall(begin, { deadlineMs: DEADLINE_MS });
  return answer ? { ...NOT_IDEMPOTENT, answer } : openCall(deps, { begin, owner });
}

/**
 * A key is reserved for 15 minutes, so that the key of a dead edge becomes free; a call that runs longer keeps it. Returns what ends that: when it is
 * done, no renewal is on its way that would reserve a key which is free again.
 */
function keepReserved({ access, clock, logger }: IdempotentDeps, begin: BeginIdempotentCallRequest): () => Promise<void> {
  let renewal: Promise<unknown> = Promise.resolve();
  const renew = () => {
    cancel = clock.after(RENEW_MS, renew);
    renewal = access.beginIdempotentCall(begin, { deadlineMs: DEADLINE_MS }).catch((error: unknown) => {
      logger.warn({ callId: begin.callId, error: String(error) }, "an Idempotency-Key could not be kept longer");
    });
  };
  let cancel = clock.after(RENEW_MS, renew);
  return async () => {
    cancel();
    await renewal;
  };
}

const NOT_IDEMPOTENT: IdempotentCall = { answer: undefined, goesOn: false, record: () => {}, store: () => {}, close: () => {} };

function openCall(deps: IdempotentDeps, { begin, owner }: { begin: BeginIdempotentCallRequest; owner: Owner }): IdempotentCall {
  const { bodySha256: _, ...call } = begin;
  const recorded = new RecordedAnswer();
  let state: "running" | "ending" | "ended" = "running";
  const endReservation = keepReserved(deps, begin);

  async function end(answer: StoredAnswer | undefined): Promise<void> {
    state = "ending";
    await endReservation();
    await tryToEnd(answer);
    recorded.release();
    state = "ended";
  }

  async function tryToEnd(answer: StoredAnswer | undefined): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        await deps.access.endIdempotentCall({ ...call, answer }, { deadlineMs: DEADLINE_MS });
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) deps.logger.warn({ callId: call.callId, error: String(error) }, "an idempotent call could not be ended");
      }
    }
  }

  /** Where the body is: in the answer or, if it is large, in content of the team. */
  async function bodyOf(): Promise<Pick<StoredAnswer, "body" | "content">> {
    const pieces = recorded.pieces();
    if (recorded.bytes <= MESSAGE_BYTES_MAX) return { body: Buffer.concat(pieces), content: undefined };
    const content = await putLargeAnswer(deps, { owner, pieces });
    return { body: Buffer.alloc(0), content };
  }

  return {
    answer: undefined,
    get goesOn() {
      return recorded.isWhole && state !== "ended";
    },
    record: (piece) => recorded.add(piece),
    // An answer that is too large to store frees the key: a retry is billed again instead of refused.
    store: async (headers, contentType) => {
      if (!recorded.isWhole) return end(undefined);
      try {
        await end({ status: 200, contentType, headers: headerFields(headers), ...(await bodyOf()) });
      } catch (error) {
        deps.logger.warn({ callId: call.callId, error: String(error) }, "the answer of an idempotent call could not be stored");
        await end(undefined);
      }
    },
    close: async () => {
      if (state === "running") await end(undefined);
    },
  };
}
