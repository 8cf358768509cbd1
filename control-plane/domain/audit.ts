import { hash } from "node:crypto";
import type { AuditEntry } from "./records.ts";

/** What the first entry of the chain covers in place of an entry before it. */
export const CHAIN_START = "0".repeat(64);

/** The chain: SHA-256 over the previous hash and every field of the entry, in this order. */
export function auditHash(previous: string, entry: Omit<AuditEntry, "hash">): string {
  const fields = [
    previous,
    entry.id,
    entry.at,
    entry.actorId ?? null,
    entry.actorKind,
    entry.action,
    entry.target,
    entry.organizationId ?? null,
    entry.requestId,
    entry.details,
  ];
  return hash("sha256", JSON.stringify(fields), "hex");
}
