import { AppError } from "../../../common/errors.ts";
import { FILE_LIST_MAX, type FileObject } from "../../schemas/stored/files.ts";
import type { RecordStore } from "../records/records.ts";

/** The query of a file list. */
export interface FileQuery {
  readonly purpose?: string | undefined;
  readonly limit?: string | undefined;
  readonly order?: string | undefined;
  readonly after?: string | undefined;
}

const PAGE = 200;

/** A page of a team's files, optionally of one purpose. */
export async function listFiles(
  records: Pick<RecordStore, "list">,
  teamId: string,
  query: FileQuery,
): Promise<{ files: FileObject[]; hasMore: boolean }> {
  const { order, limit } = readQuery(query);
  const files: FileObject[] = [];
  for await (const file of allFiles(records, teamId, { order, after: query.after || undefined })) {
    if (query.purpose && file.purpose !== query.purpose) continue;
    if (files.length === limit) return { files, hasMore: true };
    files.push(file);
  }
  return { files, hasMore: false };
}

async function* allFiles(
  records: Pick<RecordStore, "list">,
  teamId: string,
  query: { order: "asc" | "desc"; after: string | undefined },
): AsyncGenerator<FileObject> {
  for (let { after } = query; ; ) {
    const page = await records.list<FileObject>(teamId, "file", { order: query.order, after, limit: PAGE });
    for (const { body } of page.records) yield body;
    if (!page.hasMore) return;
    after = page.records.at(-1)?.id;
  }
}

function readQuery({ limit, order = "desc" }: FileQuery): { order: "asc" | "desc"; limit: number } {
  if (order !== "asc" && order !== "desc") throw badQuery("order", "must be asc or desc");
  const count = limit === undefined || limit === "" ? FILE_LIST_MAX : Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > FILE_LIST_MAX) {
    throw badQuery("limit", `must be a whole number from 1 to ${FILE_LIST_MAX}`);
  }
  return { order, limit: count };
}

function badQuery(param: string, message: string): AppError {
  return new AppError("VALIDATION_ERROR", `${param}: ${message}`, { param, details: [{ path: `query.${param}`, message }] });
}
