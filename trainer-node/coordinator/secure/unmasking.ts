import type { Logger } from "../../../common/logger.ts";
import { lazyPool } from "../../pool/lazy-pool.ts";
import { createPool } from "../../pool/pool.ts";
import type { SecureWork } from "../../privacy/secure-work.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import type { CallNode } from "../participants/node-call.ts";
import { createSecureParticipants, type SecureParticipants } from "./participants.ts";

const TASK_MS_MAX = 3_600_000;
const HEAP_MB = 2048;
const QUEUE_MAX = 1000;

/** What a coordinator needs for secure sums. */
export interface SecureTools {
  readonly participants: SecureParticipants;
  /** Runs in a thread, because it passes over the whole model for every participant. */
  unmask(work: Extract<SecureWork, { step: "unmask" }>, signal: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Creates the tools of secure aggregation. */
export function createSecureTools({ call, blobs, logger }: { call: CallNode; blobs: BlobFolder; logger: Logger }): SecureTools {
  const workerData = { fallback: undefined, blobFolder: blobs.folder };
  const pool = lazyPool(() =>
    createPool({ threads: 1, queueMax: QUEUE_MAX, taskTimeoutMs: TASK_MS_MAX, workerHeapMb: HEAP_MB, workerData, logger }),
  );
  return {
    participants: createSecureParticipants({ call, blobs }),
    unmask: async (work, signal) => (await pool.run({ type: "secure", work }, { signal })).body,
    close: () => pool.close(),
  };
}
