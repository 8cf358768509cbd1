import { InputProblem, type InputProblemKind, type ProblemDetails } from "./compute/problem.ts";

/**
 * Every error of a participant call with its HTTP status. `code` is what the caller reads. It equals the kind, except for malformed JSON,
 * which shares VALIDATION_ERROR with invalid fields.
 */
const ANSWERS = {
  MALFORMED_JSON: { status: 400, code: "VALIDATION_ERROR" },
  UNAUTHORIZED: { status: 401 },
  FORBIDDEN: { status: 403 },
  NOT_FOUND: { status: 404 },
  DATASET_NOT_FOUND: { status: 404 },
  BLOB_NOT_FOUND: { status: 404 },
  JOB_NOT_FOUND: { status: 404 },
  METHOD_NOT_ALLOWED: { status: 405 },
  BODY_TIMEOUT: { status: 408, code: "TIMEOUT" },
  BASE_MISMATCH: { status: 409 },
  ROUND_CLOSED: { status: 409 },
  IDEMPOTENCY_CONFLICT: { status: 409 },
  NOT_READY: { status: 409 },
  PAYLOAD_TOO_LARGE: { status: 413 },
  UNSUPPORTED_PARAMETERS: { status: 415 },
  RANGE_NOT_SATISFIABLE: { status: 416 },
  VALIDATION_ERROR: { status: 422 },
  INVALID_BASE64: { status: 422 },
  SHAPE_MISMATCH: { status: 422 },
  DTYPE_MISMATCH: { status: 422 },
  NON_FINITE: { status: 422 },
  EMPTY_LIST: { status: 422 },
  EMPTY_DATASET: { status: 422 },
  DATASET_REQUIRED: { status: 422 },
  TOO_FEW_CLIENTS: { status: 422 },
  SERVER_ERROR: { status: 500 },
  FUNCTION_ERROR: { status: 500 },
  NOT_REGISTERED: { status: 501 },
  BUSY: { status: 503 },
  DRAINING: { status: 503 },
  PARAMETERS_UNAVAILABLE: { status: 503 },
  TIMEOUT: { status: 504 },
} as const satisfies Record<InputProblemKind, { status: number }> & Record<string, { status: number; code?: string }>;

/** A kind of error of the participant API. */
export type ErrorKind = keyof typeof ANSWERS;

/** Optional parts of a TrainerError. */
export interface TrainerErrorOptions {
  details?: ProblemDetails | undefined;
  /** For logs only. */
  internal?: string | undefined;
  retryAfterSeconds?: number | undefined;
  /** The type of a function's exception. Its message may contain rows of private data, so only the node's owner gets it. */
  exception?: string | undefined;
  cause?: unknown;
}

/** An error that a participant call answers with. */
export class TrainerError extends Error {
  readonly kind: ErrorKind;
  readonly details: ProblemDetails | undefined;
  readonly internal: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly exception: string | undefined;

  constructor(kind: ErrorKind, message: string, options: TrainerErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TrainerError";
    this.kind = kind;
    this.details = options.details;
    this.internal = options.internal;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.exception = options.exception;
  }

  /** What a caller gets: all of it, or of a function's exception its type alone. */
  shownTo({ isOwner }: { isOwner: boolean }): { error: string; code: string; details: ProblemDetails | undefined } {
    if (this.exception === undefined) return { error: this.message, code: this.code, details: this.details };
    const details = { ...this.details, exception: this.exception };
    const error = isOwner ? this.message : `The function failed: ${this.exception}. Its message is in the log of the node.`;
    return { error, code: this.code, details };
  }

  get status(): number {
    return ANSWERS[this.kind].status;
  }

  get code(): string {
    const answer: { status: number; code?: string } = ANSWERS[this.kind];
    return answer.code ?? this.kind;
  }
}

/**
 * Converts anything thrown to a TrainerError. Unexpected errors get the given kind. For FUNCTION_ERROR, their type is shown, and their message
 * to the node's owner.
 */
export function asTrainerError(thrown: unknown, unforeseen: "SERVER_ERROR" | "FUNCTION_ERROR"): TrainerError {
  if (thrown instanceof TrainerError) return thrown;
  if (thrown instanceof InputProblem) return new TrainerError(thrown.kind, thrown.message, { details: thrown.details, cause: thrown });
  const internal = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  const shown = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : "unknown error";
  if (unforeseen === "SERVER_ERROR") return new TrainerError(unforeseen, "Something went wrong on our side.", { internal, cause: thrown });
  return new TrainerError(unforeseen, `The function failed: ${shown}`, { internal, exception: exceptionType(thrown), cause: thrown });
}

const TYPE_NAME = /^[\w.$]{1,100}$/;

/** The type of what a function threw. A name that is a text of its own is not one. */
export function exceptionType(thrown: unknown): string {
  const { name } = Object(thrown) as { name?: unknown };
  return typeof name === "string" && TYPE_NAME.test(name) ? name : "unknown error";
}
