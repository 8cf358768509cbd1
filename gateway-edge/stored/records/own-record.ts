import { AppError } from "../../../common/errors.ts";
import type { RecordKind } from "../../../common/record-kinds.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Owner, RecordOf, RecordStore } from "./records.ts";

/** The owner fields of a caller or record. */
export function ownerOf({ teamId, organizationId, keyId }: Owner): Owner {
  return { teamId, organizationId, keyId };
}

/** A record of the caller's team, and of the given parent. Throws NOT_FOUND, also for another team's record. */
export async function requireRecord<Body>(
  { records }: { readonly records: Pick<RecordStore, "get"> },
  { teamId }: Pick<Caller, "teamId">,
  { kind, id, parentId }: { kind: RecordKind; id: string; parentId?: string },
): Promise<RecordOf<Body>> {
  const record = await records.get<Body>(teamId, kind, id);
  if (record && (parentId === undefined || record.parentId === parentId)) return record;
  throw new AppError("NOT_FOUND", `No ${kind.replace("_", " ")} found with id '${id.slice(0, 200)}'.`);
}
