import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoErrorLabel,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from "mongodb";
import { AppError } from "../../../common/errors.ts";

const DUPLICATE_KEY = 11_000;
const WRITE_CONFLICT = 112;
const NO_SUCH_TRANSACTION = 251;
const MAX_TIME_EXPIRED = 50;

/** Server codes of a node that shuts down, is not the primary, got no acknowledgment of the majority in time, or was made to stop (abandoned.ts). */
const NOT_ANSWERING = new Set([6, 7, 64, 89, 91, 134, 189, 262, 9_001, 10_107, 11_600, 11_601, 11_602, 13_435, 13_436, MAX_TIME_EXPIRED]);

/** The driver's class for an exhausted connection pool is not exported. */
const POOL_EXHAUSTED = "MongoWaitQueueTimeoutError";

/** A bulk write wraps the driver's own errors, such as an exhausted pool, and hides their class. */
function originOf(error: unknown): unknown {
  const origin: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : undefined;
  return origin instanceof MongoError ? origin : error;
}

/** The database did not answer in time; the operation itself may be valid. */
function isUnreachable(thrown: unknown): boolean {
  const error = originOf(thrown);
  if (!(error instanceof MongoError)) return false;
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoClientClosedError ||
    error.name === POOL_EXHAUSTED ||
    NOT_ANSWERING.has(Number(error.code)) ||
    error.hasErrorLabel(MongoErrorLabel.RetryableWriteError)
  );
}

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoError && error.code === DUPLICATE_KEY;
}

/** Before its commit a transaction has no effect, so any failure that is not a bug may be retried from the start. */
export function mayRunAgain(error: unknown): boolean {
  if (!(error instanceof MongoError)) return false;
  if (isTransient(error) || isUnreachable(error) || isDuplicateKey(error)) return true;
  return error.code === WRITE_CONFLICT || error.code === NO_SUCH_TRANSACTION;
}

/** On a commit: it did not happen and will not. */
export function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel(MongoErrorLabel.TransientTransactionError);
}

/** On a commit: it may have happened; committing again is safe and returns the outcome. */
export function isCommitUnknown(error: unknown): boolean {
  if (!(error instanceof MongoError)) return false;
  return (
    error.hasErrorLabel(MongoErrorLabel.UnknownTransactionCommitResult) || error instanceof MongoWriteConcernError || isUnreachable(error)
  );
}

export function databaseTimeout(internal: string, cause?: unknown): AppError {
  const because = cause instanceof Error ? `: ${cause.name} ${cause.message}` : "";
  return new AppError("DB_TIMEOUT", "The database did not answer in time. Try again.", {
    internal: `${internal}${because}`,
    retryAfterSeconds: 1,
    cause,
  });
}

export function alreadyThere(cause: unknown): AppError {
  return new AppError("ALREADY_EXISTS", "A record with these values exists already.", { internal: String(cause), cause });
}

/** Converts a driver error to an error of the control plane. */
export function asStoreError(thrown: unknown): unknown {
  return isUnreachable(thrown) || isTransient(thrown) ? databaseTimeout("mongo", thrown) : thrown;
}
