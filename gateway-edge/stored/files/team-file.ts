import type { Clock } from "../../../common/clock.ts";
import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { FileObject } from "../../schemas/stored/files.ts";
import type { NewRecord, RecordWrite } from "../records/records.ts";

/** A file whose content is stored already. */
export interface NewFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: number;
  readonly createdAtMs: number;
  readonly expiresAfterSeconds?: number | undefined;
}

/** File ids have a dash where other ids have an underscore, as OpenAI's. */
export function newFileId(source: { clock: Clock; random: Random }): string {
  return newId("file", source).replace("_", "-");
}

/** The write that creates a file's record. */
export function fileWrite(file: NewFile): Extract<RecordWrite, { type: "create" }> & { readonly body: FileObject } {
  const { id, filename, purpose, bytes, createdAtMs, expiresAfterSeconds } = file;
  const createdAt = Math.floor(createdAtMs / 1000);
  const expiresAt = expiresAfterSeconds === undefined ? null : createdAt + expiresAfterSeconds;
  const body = { id, object: "file", bytes, created_at: createdAt, expires_at: expiresAt, filename, purpose, status: "processed" } as const;
  const record: NewRecord = { id, kind: "file", body, createdAtMs, expiresAtMs: expiresAt === null ? undefined : expiresAt * 1000 };
  return { type: "create", ...record, body };
}
