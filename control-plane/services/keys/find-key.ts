import { AppError } from "../../../common/errors.ts";
import { hasKeyShape, secretSha256 } from "../../../common/key-shape.ts";
import type { ApiKey } from "../../domain/records.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import type { Actor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { mayManageKey } from "../teams/access.ts";

const KEYS_PER_TEAM_MAX = 1000;

/** Finds a key by its id, its hash or its secret. */
export async function findKey(deps: ControlDeps, reader: Reader, reference: string): Promise<ApiKey | undefined> {
  if (reference.startsWith("key_")) return reader.get("keys", reference);
  if (hasKeyShape(reference)) {
    const hash = deps.secrets.keyHash(secretSha256(reference));
    // During the grace period after a rotation the old secret still identifies its key.
    return (await reader.find("keys", "byHash", [hash])) ?? (await reader.find("keys", "byPreviousHash", [hash]));
  }
  return /^[0-9a-f]{64}$/.test(reference) ? reader.find("keys", "byHash", [reference]) : undefined;
}

export async function requireKey(deps: ControlDeps, reader: Reader, actor: Actor, reference: string): Promise<ApiKey> {
  const key = await findKey(deps, reader, reference);
  const may = key ? await mayManageKey(reader, actor, key) : "hidden";
  if (!key || may === "hidden") throw new AppError("NOT_FOUND", "There is no such API key.");
  if (may === "no") throw new AppError("FORBIDDEN", "Only the creator of the key or an owner or admin of its team may do this.");
  return key;
}

export async function requireRoomForKey(tx: Transaction, teamId: string): Promise<void> {
  if ((await tx.count("keys", { index: "byTeam", equals: [teamId] })) < KEYS_PER_TEAM_MAX) return;
  throw new AppError("VALIDATION_ERROR", `A team has at most ${KEYS_PER_TEAM_MAX} keys. Remove one first.`);
}
