import { AppError } from "../../../common/errors.ts";
import type { ServerStream } from "../../../common/grpc/server.ts";
import { orElse } from "../../../common/ignore.ts";
import type {
  GetContentRequest,
  GetContentResponse,
  PutContentRequest,
  PutContentResponse,
} from "../../../proto/gen/tributary/records/v1/records.ts";
import { contentId, contentScopes, putContentRow, removeContentRow, teamOfContent } from "../../writes/records.ts";
import type { ControlDeps } from "../deps.ts";
import { requireId } from "./messages.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "logger"> & { readonly config: Pick<ControlDeps["config"], "filesBytesMax"> };

const CHUNK_BYTES_MAX = 256 * 1024;
/** Bytes that are reserved at a time for an upload of unknown size: as many as it has, within these bounds. */
const RESERVED = { min: 1024 * 1024, max: 16 * 1024 * 1024 };

/** Blob name of a record's content. It contains the team, so that an id alone never reaches another team's content. */
export function blobName(content: string): string {
  return `records/${content}`;
}

/**
 * Stores the content. Its row is written first, with the bytes that are reserved for it: uploads that run at the same time cannot exceed
 * the organization's limit together. Content of an edge or a control plane that died has a row without a record, by which a job removes it.
 */
export async function putContent(deps: Deps, messages: AsyncIterable<PutContentRequest>): Promise<PutContentResponse> {
  const reader = messages[Symbol.asyncIterator]();
  const first = await reader.next();
  if (first.done) throw new AppError("VALIDATION_ERROR", "The upload is empty: its first message must have teamId and id.");
  const { teamId, id, isTemporary } = first.value;
  const content = { teamId: requireId(teamId), id: requireId(id) };
  const limit = isTemporary ? undefined : deps.config.filesBytesMax;
  const before = (await deps.store.get("contents", contentId(content)))?.bytes ?? 0;
  const scopes = await contentScopes(deps.store, content.teamId);
  const setBytes = (bytes: number, most?: number) =>
    deps.store.transaction(scopes, (tx) => putContentRow(tx, { ...content, bytes }, { now: deps.clock.now(), limit: most }));
  const reserve = (bytes: number) => setBytes(bytes, limit);
  const announced = Number(first.value.bytes);
  await reserve(announced);
  try {
    const chunks = reserved(chunksOf(first.value, reader), { announced, reserve });
    const { bytes, sha256 } = await deps.store.blobs.put(blobName(contentId(content)), chunks);
    await setBytes(bytes);
    return { bytes: BigInt(bytes), sha256 };
  } catch (thrown) {
    // Nothing was stored, and what was there before still is.
    await orElse(setBytes(before), undefined, "a job removes the row and gives the bytes back");
    throw thrown;
  }
}

/** Passes the chunks on after their bytes are reserved. */
async function* reserved(
  chunks: AsyncIterable<Uint8Array>,
  { announced, reserve }: { announced: number; reserve: (bytes: number) => Promise<void> },
): AsyncGenerator<Uint8Array> {
  let [held, taken] = [announced, 0];
  for await (const chunk of chunks) {
    taken += chunk.length;
    if (taken > held) {
      const ahead = taken + Math.min(Math.max(taken, RESERVED.min), RESERVED.max);
      held = await reserve(ahead).then(
        () => ahead,
        // There may be room for less.
        () => reserve(taken).then(() => taken),
      );
    }
    yield chunk;
  }
}

async function* chunksOf(first: PutContentRequest, rest: AsyncIterator<PutContentRequest>): AsyncGenerator<Uint8Array> {
  if (first.chunk.length > 0) yield first.chunk;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value.chunk;
}

export async function getContent(deps: Deps, request: GetContentRequest, stream: ServerStream<GetContentResponse>): Promise<void> {
  try {
    const content = { teamId: requireId(request.teamId), id: requireId(request.id) };
    const blob = await deps.store.blobs.get(blobName(contentId(content)), Number(request.offset));
    if (!blob) throw new AppError("NOT_FOUND", "The content does not exist.");
    for await (const chunk of pieces(blob)) {
      if (stream.signal.aborted) return;
      if (!stream.write({ chunk })) await stream.drained();
    }
    stream.end();
  } catch (thrown) {
    if (!(thrown instanceof AppError)) deps.logger.error({ error: String(thrown) }, "the content of a record could not be read");
    stream.fail(thrown);
  }
}

/** Splits chunks to fit a gRPC message. */
async function* pieces(blob: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of blob) {
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES_MAX) {
      yield Buffer.from(chunk.buffer, chunk.byteOffset + start, Math.min(CHUNK_BYTES_MAX, chunk.length - start));
    }
  }
}

/** Removes content that no record owns, then its row. */
export async function removeContents(deps: Pick<Deps, "store">, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const content = await deps.store.get("contents", id);
    if (content?.unownedAt === undefined) continue;
    await deps.store.blobs.remove(blobName(id));
    await deps.store.transaction(await contentScopes(deps.store, teamOfContent(id)), (tx) => removeContentRow(tx, id));
  }
}
