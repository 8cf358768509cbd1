import type { Clock } from "../../common/clock.ts";
import type { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import { callerIdentity } from "../credit/call-identity.ts";
import type { CountedCredit } from "./counted-credit.ts";

/** A call that was refused before it held any credit. */
export interface Refusal {
  readonly callId: string;
  readonly caller: Caller;
  readonly endpoint: string;
  /** As requested; empty if the request does not name one. */
  readonly model: string;
  readonly stream: boolean;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  readonly error: AppError;
  readonly httpStatus: number;
}

/** Rows of one key and minute, at most. The last one waits for the end of the minute and counts the rest. */
const ROWS_PER_MINUTE = 60;
const MINUTE_MS = 60_000;
const REASON_CHARACTERS_MAX = 500;
const LABEL_CHARACTERS_MAX = 256;

interface KeyMinute {
  rows: number;
  /** The last row of the minute, with the number of refusals it stands for. */
  last: UsageLog | undefined;
}

/**
 * Writes refused calls to the log, at no cost. What a key can cause is bounded: sixty rows a minute, and one count for the rest. A refusal
 * does not wait for its row, and is lost if the process dies within the minute: it is information, not money.
 */
export class Refusals {
  readonly #credit: Pick<CountedCredit, "settle" | "hasFailed">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #byKey = new Map<string, KeyMinute>();
  #cancel: (() => void) | undefined;

  constructor({ credit, clock, logger }: { credit: Pick<CountedCredit, "settle" | "hasFailed">; clock: Clock; logger: Logger }) {
    this.#credit = credit;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** A call that failed after it held credit has a row already. */
  note(refusal: Refusal): void {
    if (this.#credit.hasFailed(refusal.callId)) return;
    this.#cancel ??= this.#clock.after(MINUTE_MS, () => void this.flush());
    const minute = this.#byKey.get(refusal.caller.keyId) ?? { rows: 0, last: undefined };
    this.#byKey.set(refusal.caller.keyId, minute);
    if (minute.last) {
      minute.last = { ...minute.last, refused: (minute.last.refused ?? 1n) + 1n };
      return;
    }
    minute.rows++;
    const row = rowOf(refusal, new Date(this.#clock.now()));
    if (minute.rows === ROWS_PER_MINUTE) minute.last = row;
    else void this.#write(row);
  }

  /** Ends the minute: writes the rows that wait. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const minutes = this.#byKey;
    this.#byKey = new Map();
    await Promise.all([...minutes.values()].map(({ last }) => last && this.#write(last)));
  }

  async #write(row: UsageLog): Promise<void> {
    try {
      await this.#credit.settle(row);
    } catch (error) {
      this.#logger.warn({ callId: row.callId, error: String(error) }, "a refused call could not be written to the log");
    }
  }
}

function rowOf({ callId, caller, endpoint, model, stream, endUser, tags, error, httpStatus }: Refusal, at: Date): UsageLog {
  return {
    ...callerIdentity(caller),
    callId,
    onceFor: undefined,
    endpoint,
    endUser: endUser?.slice(0, LABEL_CHARACTERS_MAX),
    model: model.slice(0, LABEL_CHARACTERS_MAX),
    type: "",
    stream,
    deploymentId: "",
    provider: "",
    providerModel: undefined,
    createdAt: at,
    completedAt: at,
    status: "refused",
    httpStatus,
    errorCode: error.code,
    reason: error.message.slice(0, REASON_CHARACTERS_MAX),
    usage: undefined,
    cost: 0n,
    priceVersion: 0,
    cacheHit: false,
    attempts: 0,
    fallbackFrom: undefined,
    latencyMs: 0,
    firstTokenMs: undefined,
    overheadUs: 0,
    tags: [...tags],
    attemptsDetail: [],
  };
}
