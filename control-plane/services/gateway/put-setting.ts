import { toJson } from "../../../common/json.ts";
import { appendChange } from "../../writes/feed.ts";
import type { WriteScope } from "../write.ts";

/** Stores a setting, or removes it where the value is undefined, and makes every edge load the catalog with it. */
export async function putSetting(
  { tx, now }: Pick<WriteScope, "tx" | "now">,
  { id, value }: { id: string; value: object | undefined },
): Promise<void> {
  const before = await tx.get("gatewaySettings", id);
  if (value !== undefined)
    await tx.put("gatewaySettings", { id, value: toJson(value), createdAt: before?.createdAt ?? now, updatedAt: now });
  else if (before) await tx.remove("gatewaySettings", id);
  await appendChange(tx, { kind: "catalog", subject: id }, now);
}
