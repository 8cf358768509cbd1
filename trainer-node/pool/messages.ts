import type { MessagePort } from "node:worker_threads";
import type { FollowedFile } from "../blobs/followed-file.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import type { ProblemDetails } from "../compute/problem.ts";
import type { ErrorKind } from "../errors.ts";
import type { FunctionName } from "../functions/registry.ts";
import type { BlobAggregation } from "../operations/aggregate-blobs.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { SecureWork } from "../privacy/secure-work.ts";
import type { ServeRequest } from "../serving/serve-request.ts";
import type { RingMemory } from "../stream/ring.ts";

/** The operations of the participant API, `call` being all of them behind one route. */
export const OPERATION_NAMES = ["train", "evaluate", "aggregate", "predict", "call"] as const;
export type Operation = (typeof OPERATION_NAMES)[number];

/** What crosses into a worker thread. Bodies are moved, not copied: the sender's view is empty afterwards. */
export type ComputeTask =
  | { readonly type: "warm-up" }
  | {
      readonly type: "call";
      readonly operation: Operation;
      /** The body, or its beginning where the rest comes through the ring. */
      readonly body: Uint8Array<ArrayBuffer>;
      readonly ring?: RingMemory | undefined;
      readonly bodyType?: BodyType;
      readonly answerType?: BodyType;
      readonly config?: string | undefined;
      /** The parameters stay in the folder of blobs; what comes back is a KeptAnswer as JSON. Only for answers of octets. */
      readonly keep?: boolean;
      /** For a caller who named none; chance is not made in workers. */
      readonly seed: number;
      /** Where progress is told, when somebody listens. */
      readonly progress?: MessagePort | undefined;
      /** Where a function hears that its work is wanted no more; there is none where no function is registered. */
      readonly cancel?: MessagePort | undefined;
      readonly closedRounds?: readonly string[] | undefined;
      /** Secret: what the noise of a private update is made from. */
      readonly noiseKey?: Uint8Array | undefined;
    }
  /** Masks of a secure sum, put on or taken off; comes back as bytes. */
  | { readonly type: "secure"; readonly work: SecureWork }
  /** Blobs to blobs, for whoever has the folder of them; comes back as JSON. */
  | { readonly type: "aggregate-blobs"; readonly request: BlobAggregation }
  /** An answer of a model that is served; comes back as JSON. */
  | { readonly type: "serve"; readonly request: ServeRequest };

/** Also for whoever has the folder of blobs: a file is read while it is written; its FileDigest comes back as JSON. */
export interface FollowTask {
  readonly type: "follow-file";
  readonly file: FollowedFile;
}

/** What comes back. A failure is data, not an exception: error classes do not survive the way between threads. */
export type ComputeResult =
  | { readonly type: "done"; readonly body: Uint8Array<ArrayBuffer>; readonly head?: string | undefined }
  | { readonly type: "warm"; readonly registered: readonly FunctionName[] }
  | {
      readonly type: "failed";
      readonly kind: ErrorKind;
      readonly message: string;
      readonly details: ProblemDetails | undefined;
      readonly internal: string | undefined;
    };

/** What a worker is born with. */
export interface WorkerData {
  /** The default data set, in shared memory: one copy for all threads. */
  readonly fallback: Dataset | undefined;
  /** Where aggregates may put what does not fit in memory; the system's own where absent. */
  readonly tempFolder?: string | undefined;
  /** Bytes of clients' tensors one aggregate keeps in memory before it writes to disk. */
  readonly recordBytesInMemory?: number | undefined;
  /** Where blobs are; calls that name one are refused where it is absent. */
  readonly blobFolder?: string | undefined;
  /** Prefixes of `file://` and `https://` addresses that datasets may be read from. */
  readonly datasetUris?: readonly string[] | undefined;
  /** PEM of authorities to trust for those, beside the system's. */
  readonly datasetAuthorities?: string | undefined;
  /** The operator's module of registered functions, as a URL. */
  readonly functionsUrl?: string | undefined;
  /** False: only what is registered is answered. */
  readonly builtins?: boolean | undefined;
  /** Bytes of models that this thread keeps ready to answer. */
  readonly modelBytes?: number | undefined;
}
