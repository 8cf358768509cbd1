import type { BlobFolder } from "../blobs/blob-folder.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/** An update has the tensors of the parameters that it starts from, in any format; with control variates beside them, twice. */
const TIMES_MOST = 8;
const MARGIN_BYTES = 16 * 1024 * 1024;

/**
 * How large an update may be. What a participant announces or sends beyond it is that participant's failure, and not the storage of the organization
 * that it would fill. Undefined without parameters: the first update decides what there is.
 */
export async function mostBytesOf(blobs: BlobFolder, parameters: string): Promise<number | undefined> {
  const base = parameters === "" ? undefined : await blobs.find(parameters);
  return base && base.bytes * TIMES_MOST + MARGIN_BYTES;
}

/** Passes the bytes of an update on; `announced` is refused before the first of them. */
export async function* boundedUpdate(
  chunks: AsyncIterable<Uint8Array>,
  { most, announced = 0 }: { most: number | undefined; announced?: number | undefined },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  requireSize(announced, most);
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    requireSize(bytes, most);
    yield chunk;
  }
}

function requireSize(bytes: number, most = Number.POSITIVE_INFINITY): void {
  if (bytes > most)
    throw new ParticipantProblem(`its update has ${bytes} bytes or more, and those of this model have at most ${most}`, { again: false });
}
