import type { Clock } from "../../../common/clock.ts";
import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { FileObject } from "../../schemas/stored/files.ts";
import type { NewRecord, RecordWrite } from "../records/records.ts";

export interface NewFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: number;
  readonly createdAtMs: number;
  readonly expiresAfterSeconds?: number | undefined;
}

/** OpenAI writes a dash where other ids have an underscore. */
export function newFileId(source: { clock: Clock; random: Random }): string {
  return newId("file", source).replace("_", "-");
}

/** A file whose bytes are kept already, as the write that makes it one. */
export function fileWrite(file: NewFile): Extract<RecordWrite, { type: "create" }> & { readonly body: FileObject } {
  const { id, filename, purpose, bytes, createdAtMs, expiresAfterSeconds } = file;
  const createdAt = Math.floor(createdAtMs / 1000);
  const expiresAt = expiresAfterSeconds === undefined ? null : createdAt + expiresAfterSeconds;
  const body = { id, object: "file", bytes, created_at: createdAt, expires_at: expiresAt, filename, purpose, status: "processed" } as const;
  const record: NewRecord = { id, kind: "file", body, createdAtMs, expiresAtMs: expiresAt === null ? undefined : expiresAt * 1000 };
  return { type: "create", ...record, body };
}
