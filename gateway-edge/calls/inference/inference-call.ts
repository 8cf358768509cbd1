import type { CancelSignal } from "../../../common/cancel.ts";
import type { AppError, RateState } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { BytesPart } from "../../upstream/providers/provider.ts";
import type { Bill } from "./bill.ts";
import type { DeliveredPart } from "./delivery.ts";
import type { Job } from "./job.ts";
import type { CallRouting } from "./route-request.ts";

export interface InferenceCall<Answer> {
  readonly callId: string;
  /** The id of the client's request, by which the upstream names the call too; absent: the call's own id. */
  readonly requestId?: string | undefined;
  /** The key of the background work that makes this call: of all calls with one key, also those of a dead edge, one is billed. */
  readonly onceFor?: string | undefined;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly job: Job<Answer>;
  /** The caller's routing options. */
  readonly routing: CallRouting;
  /** Aborted when the client disconnects. */
  readonly signal: CancelSignal;
  /** The client's end of a stream. */
  readonly client?: { readonly unsentShare: number } | undefined;
  /** The status that the client gets for an error; for the log. */
  readonly errorStatus: (error: AppError) => number;
  /** Reads a whole answer before it is settled, and may change it. What it throws is the call's error; what was used is billed all the same. */
  readonly review?: ((answer: Answer, bill: Bill) => Promise<Answer>) | undefined;
  /** Looks for an answer that needs no provider, once the call has all of its reservation. */
  readonly findAnswer?: (() => Promise<FoundAnswer<Answer> | undefined>) | undefined;
  /** No rate limit counts it: it is part of a call that is counted. */
  readonly isUncounted?: true | undefined;
}

/** Answers a call that has a reservation, and settles it, also when it throws. */
export type FoundAnswer<Answer> = (rate: RateState | undefined) => Promise<InferenceResult<Answer>>;

/** What is known of a call before its first byte. */
export interface CallHead {
  /** The model as the client knows it: the requested name, or the fallback's. */
  readonly model: string;
  readonly deploymentId: string;
  readonly rate: RateState | undefined;
  readonly retries: number;
  readonly fallbacks: number;
  /** Time in the gateway, without the provider's and the client's. */
  overheadMs(): number;
  /** Set when the answer comes from the cache. */
  readonly cacheKey?: string;
  /** Set when that answer was made for a similar text. */
  readonly similarity?: number;
}

export type InferenceResult<Answer> =
  | { readonly type: "answer"; readonly head: CallHead; readonly answer: Answer; readonly bill: Bill }
  /**
   * Parts to send on, then one `settled`: the call is settled, the last bytes may be sent. A reader that stops iterating has disconnected.
   * An error thrown by it comes after the first part, and after the settlement.
   */
  | { readonly type: "stream"; readonly head: CallHead; readonly contentType: string | undefined; readonly parts: DeliveredParts };

/** Its iterator may be a ReadyIterator. */
export type DeliveredParts = AsyncIterable<DeliveredPart | BytesPart>;
