import type { Readable } from "node:stream";
import type { Origin } from "../../../blobs/blob-owners.ts";
import { TrainerError } from "../../../errors.ts";

/** Copies of blobs outside of this coordinator's folder, from which other coordinators go on when this one is lost. */
export interface BlobCopies {
  /** Makes the copies that a blob needs before anything may refer to it. Throws BlobsUnavailable if it cannot. */
  put(blob: CopiedBlob, signal?: AbortSignal): Promise<void>;
  /** The bytes of copies, one after the other, until one has the right hash; with a tenant, only of a blob that it owns. */
  open(wanted: WantedBlob): AsyncIterable<Readable>;
  /** Removes a tenant's ownership of a blob that it uploaded. False if it has none. */
  drop(wanted: WantedBlob): Promise<boolean>;
}

export interface WantedBlob {
  readonly sha256: string;
  /** The organization that owns it; "" is the operator, who may read all. */
  readonly tenant: string;
}

export interface CopiedBlob extends WantedBlob {
  readonly path: string;
  readonly bytes: number;
  readonly origin: Origin;
  /** The control plane refers to the blob already, so a copy that is there cannot be swept meanwhile and need not be sent again. */
  readonly isReferenced: boolean;
}

/** Blobs cannot be read, or not be copied. The work on them waits; it does not fail. Callers of the HTTP API are answered with 503. */
export class BlobsUnavailable extends TrainerError {
  /** For the federation's owner. */
  readonly waitingFor: string;

  constructor(waitingFor: string, options?: { cause: unknown }) {
    const internal = options ? { internal: String(options.cause) } : {};
    super("PARAMETERS_UNAVAILABLE", `This needs ${waitingFor}. Try again later.`, { retryAfterSeconds: 5, ...internal, ...options });
    this.name = "BlobsUnavailable";
    this.waitingFor = waitingFor;
  }
}
