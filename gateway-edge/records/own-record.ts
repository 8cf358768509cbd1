import { AppError } from "../../common/errors.ts";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Owner, RecordKind, RecordOf, RecordStore } from "./records.ts";

export function ownerOf({ teamId, organizationId, keyId }: Owner): Owner {
  return { teamId, organizationId, keyId };
}

/** A record of the caller's team; else NOT_FOUND, also when it is another team's. */
export async function requireOwn<Body>(
  records: Pick<RecordStore, "get">,
  { teamId }: Pick<Caller, "teamId">,
  { kind, id }: { kind: RecordKind; id: string },
): Promise<RecordOf<Body>> {
  const record = await records.get<Body>(teamId, kind, id);
  if (!record) throw new AppError("NOT_FOUND", `No ${kind} found with id '${id.slice(0, 200)}'.`);
  return record;
}
