import type { MessagePort } from "node:worker_threads";
import type { FollowedFile } from "../blobs/followed-file.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import type { ProblemDetails } from "../compute/problem.ts";
import type { ErrorKind } from "../errors.ts";
import type { FunctionName } from "../functions/registry.ts";
import type { BlobAggregation } from "../operations/aggregate-blobs.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { BlobExpansion } from "../operations/expand-blob.ts";
import type { SecureWork } from "../privacy/secure-work.ts";
import type { ServeRequest } from "../serving/serve-request.ts";
import type { RingMemory } from "../stream/ring.ts";

/** The operations of the participant API; `call` is one route for all of them. */
export const OPERATION_NAMES = ["train", "evaluate", "aggregate", "predict", "serve", "call"] as const;
/** The name of an operation. */
export type Operation = (typeof OPERATION_NAMES)[number];

/** A task for a worker thread. Bodies are transferred, not copied: the sender's view is empty afterwards. */
export type ComputeTask =
  | { readonly type: "warm-up" }
  | {
      readonly type: "call";
      readonly operation: Operation;
      /** The body, or its first bytes if the rest comes through the ring. */
      readonly body: Uint8Array<ArrayBuffer>;
      readonly ring?: RingMemory | undefined;
      readonly bodyType?: BodyType;
      readonly answerType?: BodyType;
      readonly config?: string | undefined;
      /** Stores the parameters as a blob; the result is a StoredAnswer as JSON. Only for answers of octets. */
      readonly keep?: boolean;
      /** Seed for calls that name none. Workers have no source of randomness. */
      readonly seed: number;
      /** The port that receives progress, if there is a listener. */
      readonly progress?: MessagePort | undefined;
      /** The port on which a registered function is notified of a cancellation; absent if no function is registered. */
      readonly cancel?: MessagePort | undefined;
      readonly closedRounds?: readonly string[] | undefined;
      /** The secret key of the noise of a private update. */
      readonly noiseKey?: Uint8Array | undefined;
      /** The tenant whose blobs the call may name; absent or "" for the operator, who may name all. */
      readonly tenant?: string | undefined;
    }
  /** Adds or removes the masks of a secure sum; the result is bytes. */
  | { readonly type: "secure"; readonly work: SecureWork }
  /** Aggregates blobs to blobs in the caller's blob folder; the result is JSON. */
  | { readonly type: "aggregate-blobs"; readonly request: BlobAggregation }
  /** Expands a compressed update in the coordinator's blob folder; the result is JSON. */
  | { readonly type: "expand-blob"; readonly request: BlobExpansion }
  /** Runs a served model; the result is JSON. */
  | { readonly type: "serve"; readonly request: ServeRequest };

/** Reads a file of the blob folder while it is written; the result is its FileDigest as JSON. */
export interface FollowTask {
  readonly type: "follow-file";
  readonly file: FollowedFile;
}

/** The result of a task. A failure is data, because error classes do not survive the transfer between threads. */
export type ComputeResult =
  | { readonly type: "done"; readonly body: Uint8Array<ArrayBuffer>; readonly head?: string | undefined }
  | { readonly type: "warm"; readonly registered: readonly FunctionName[] }
  | {
      readonly type: "failed";
      readonly kind: ErrorKind;
      readonly message: string;
      readonly details: ProblemDetails | undefined;
      readonly internal: string | undefined;
      readonly exception?: string | undefined;
    };

/** The workerData of a thread. */
export interface WorkerData {
  /** The default dataset, in shared memory: one copy for all threads. */
  readonly fallback: Dataset | undefined;
  /** The folder for clients' tensors that do not fit in memory; the system's temporary folder if absent. */
  readonly tempFolder?: string | undefined;
  /** Bytes of clients' tensors that one aggregate keeps in memory before it writes to disk. */
  readonly recordBytesInMemory?: number | undefined;
  /** The folder of blobs. If absent, calls that name a blob are refused. */
  readonly blobFolder?: string | undefined;
  /** Prefixes of `file://` and `https://` addresses that datasets may be read from. */
  readonly datasetUris?: readonly string[] | undefined;
  /** PEM of certificate authorities to trust for those addresses, in addition to the system's. */
  readonly datasetAuthorities?: string | undefined;
  /** The operator's module of registered functions, as a URL. */
  readonly functionsUrl?: string | undefined;
  /** False: operations without a registered function are refused. */
  readonly builtins?: boolean | undefined;
  /** Bytes of served models that this thread keeps loaded, and of parameters for a serve function. */
  readonly modelBytes?: number | undefined;
}
