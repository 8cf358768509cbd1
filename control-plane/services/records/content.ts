import { AppError } from "../../../common/errors.ts";
import type { ServerStream } from "../../../common/grpc/server.ts";
import type {
  GetContentRequest,
  GetContentResponse,
  PutContentRequest,
  PutContentResponse,
} from "../../../proto/gen/tributary/records/v1/records.ts";
import { contentId, keepContent } from "../../writes/records.ts";
import type { ControlDeps } from "../deps.ts";
import { requireId } from "./messages.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "logger">;

const CHUNK_BYTES_MAX = 256 * 1024;

/** Where the bytes of a record are. The team is part of the name: nobody reaches another's by an id. */
function blobName(content: string): string {
  return `records/${content}`;
}

/** Bytes first, then the note of them: what an edge that died left behind has a note without a record, and goes with time. */
export async function putContent(deps: Deps, messages: AsyncIterable<PutContentRequest>): Promise<PutContentResponse> {
  const reader = messages[Symbol.asyncIterator]();
  const first = await reader.next();
  if (first.done) throw new AppError("VALIDATION_ERROR", "The content has no beginning.");
  const { teamId, id } = first.value;
  const content = { teamId: requireId(teamId), id: requireId(id) };
  // Noted before too: a control plane that dies while it writes leaves a note of what to remove.
  await deps.store.transaction((tx) => keepContent(tx, { ...content, bytes: 0 }, deps.clock.now()));
  const { bytes, sha256 } = await deps.store.blobs.put(blobName(contentId(content)), chunksOf(first.value, reader));
  await deps.store.transaction((tx) => keepContent(tx, { ...content, bytes }, deps.clock.now()));
  return { bytes: BigInt(bytes), sha256 };
}

async function* chunksOf(first: PutContentRequest, rest: AsyncIterator<PutContentRequest>): AsyncGenerator<Uint8Array> {
  if (first.chunk.length > 0) yield first.chunk;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value.chunk;
}

export async function getContent(deps: Deps, request: GetContentRequest, stream: ServerStream<GetContentResponse>): Promise<void> {
  try {
    const content = { teamId: requireId(request.teamId), id: requireId(request.id) };
    const blob = await deps.store.blobs.get(blobName(contentId(content)), Number(request.offset));
    if (!blob) throw new AppError("NOT_FOUND", "There is no such content.");
    for await (const chunk of pieces(blob)) {
      if (stream.signal.aborted) return;
      if (!stream.write({ chunk })) await stream.drained();
    }
    stream.end();
  } catch (thrown) {
    if (!(thrown instanceof AppError)) deps.logger.error({ error: String(thrown) }, "a content could not be read");
    stream.fail(thrown);
  }
}

/** In pieces that fit a message. */
async function* pieces(blob: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of blob) {
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES_MAX) {
      yield Buffer.from(chunk.buffer, chunk.byteOffset + start, Math.min(CHUNK_BYTES_MAX, chunk.length - start));
    }
  }
}

/** Removes bytes that are no record's, then the note of them. */
export async function removeContents(deps: Pick<Deps, "store">, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const content = await deps.store.get("contents", id);
    if (content?.unownedAt === undefined) continue;
    await deps.store.blobs.remove(blobName(id));
    await deps.store.transaction((tx) => tx.remove("contents", id));
  }
}
