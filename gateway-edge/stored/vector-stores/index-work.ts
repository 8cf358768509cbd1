import { AppError, asAppError, isTransient } from "../../../common/errors.ts";
import type { StoreFileObject } from "../../schemas/stored/vector-stores.ts";
import { teamFiles } from "../files/team-files.ts";
import { ownerOf } from "../records/own-record.ts";
import type { RecordOf } from "../records/records.ts";
import type { WorkHandler, WorkLease } from "../records/work.ts";
import { chunksOf } from "./chunks.ts";
import { type EmbedDeps, embed } from "./embed.ts";
import { encodeIndex, fileIndex } from "./file-index.ts";
import { indexingOf, type StoreFileBody } from "./objects.ts";
import { changeFiles, requireStore, type StoredDeps } from "./stored-files.ts";

type IndexDeps = StoredDeps & EmbedDeps;
type Failure = NonNullable<StoreFileObject["last_error"]>;

/** Of all files of a store: a search reads as much. */
const STORE_BYTES_MAX = 64 * 1024 * 1024;

/** Cuts a file into chunks, gets their vectors, and stores both as the content of the file's record. */
export function indexHandler(deps: IndexDeps): WorkHandler {
  return async ({ record }, work) => {
    const file = record as RecordOf<StoreFileBody>;
    if (file.body.file.status !== "in_progress") return;
    try {
      const bytes = await indexFile(deps, file, work);
      await finish(deps, { file, work }, { status: "completed", usage_bytes: bytes, last_error: null });
    } catch (thrown) {
      work.signal.throwIfAborted();
      const error = asAppError(thrown);
      // The lease ends and the work is claimed again; calls that were paid for are not paid again.
      if (isTransient(error)) throw thrown;
      await finish(deps, { file, work }, { status: "failed", last_error: failureOf(error) });
    }
  };
}

async function indexFile(deps: IndexDeps, { id, teamId, body }: RecordOf<StoreFileBody>, work: WorkLease): Promise<number> {
  const { file } = body;
  const { body: store } = await requireStore(deps, teamId, file.vector_store_id);
  const found = await teamFiles(deps.records, teamId).readText(file.id);
  if (!found) throw new AppError("UNSUPPORTED_PARAMETER", "The file was deleted, is larger than 4 MiB, or is not text in UTF-8.");
  const texts = chunksOf(found.text, file.chunking_strategy.static);
  if (texts.length === 0) throw new AppError("INVALID_REQUEST", "The file has no text.");
  const caller = work.caller();
  if (!caller) throw new AppError("INVALID_API_KEY", "The API key that added the file no longer exists.");
  const onceFor = indexingOf(id, body);
  const vectors = await embed(deps, { caller, model: store.embedding_model, texts, signal: work.signal, onceFor });
  const content = encodeIndex(fileIndex(texts, vectors));
  if (store.usage_bytes + content.length > STORE_BYTES_MAX) {
    throw new AppError(
      "INVALID_REQUEST",
      `The vectors of a store may have ${STORE_BYTES_MAX} bytes. Use several stores, or larger chunks.`,
    );
  }
  await deps.records.putContent(teamId, id, once(content), { bytes: content.length });
  return content.length;
}

async function finish(
  deps: IndexDeps,
  { file, work }: { file: RecordOf<StoreFileBody>; work: WorkLease },
  change: Partial<StoreFileObject>,
): Promise<void> {
  await changeFiles(deps, { owner: ownerOf(file), storeId: file.body.file.vector_store_id }, async () => {
    const now = await deps.records.get<StoreFileBody>(file.teamId, "vector_store_file", file.id);
    if (now?.body.file.status !== "in_progress") return [];
    const before = now.body.file;
    const after: StoreFileObject = { ...before, ...change };
    const body: StoreFileBody = { ...now.body, file: after };
    const write = { type: "put", kind: "vector_store_file", id: file.id, body, expectedRevision: now.revision, claim: work.claim } as const;
    return [{ before, after, write }];
  });
}

function failureOf({ code, message }: AppError): Failure {
  if (code === "UNSUPPORTED_PARAMETER") return { code: "unsupported_file", message };
  return { code: code === "INVALID_REQUEST" ? "invalid_file" : "server_error", message };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
