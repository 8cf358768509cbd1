import { AppError } from "../../../common/errors.ts";
import type { ServerStream } from "../../../common/grpc/server.ts";
import type {
  GetContentRequest,
  GetContentResponse,
  PutContentRequest,
  PutContentResponse,
} from "../../../proto/gen/tributary/records/v1/records.ts";
import { contentId, putContentRow } from "../../writes/records.ts";
import type { ControlDeps } from "../deps.ts";
import { requireId } from "./messages.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "logger">;

const CHUNK_BYTES_MAX = 256 * 1024;

/** Blob name of a record's content. It contains the team, so that an id alone never reaches another team's content. */
function blobName(content: string): string {
  return `records/${content}`;
}

/** Stores the content, then its row. Content of an edge that died has a row without a record, which a job removes. */
export async function putContent(deps: Deps, messages: AsyncIterable<PutContentRequest>): Promise<PutContentResponse> {
  const reader = messages[Symbol.asyncIterator]();
  const first = await reader.next();
  if (first.done) throw new AppError("VALIDATION_ERROR", "The upload is empty: its first message must have teamId and id.");
  const { teamId, id } = first.value;
  const content = { teamId: requireId(teamId), id: requireId(id) };
  // The row is written before the content too: a control plane that dies during the upload leaves a row, by which a job cleans up.
  await deps.store.transaction((tx) => putContentRow(tx, { ...content, bytes: 0 }, deps.clock.now()));
  const { bytes, sha256 } = await deps.store.blobs.put(blobName(contentId(content)), chunksOf(first.value, reader));
  await deps.store.transaction((tx) => putContentRow(tx, { ...content, bytes }, deps.clock.now()));
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
    await deps.store.transaction((tx) => tx.remove("contents", id));
  }
}
