import type { VerifyLedgerResponse } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { checkAudit } from "../proof/check-audit.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { COLLECTION_NAMES } from "../stores/collections.ts";
import type { Store } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";
import { FOLDER_SETTINGS } from "./mark.ts";
import { POSITION } from "./position.ts";

interface Both {
  readonly source: Store;
  readonly target: Store;
  readonly signal: AbortSignal;
}

/** Both stores after the copy. */
export interface Promoted {
  readonly records: number;
  readonly blobs: number;
  readonly source: VerifyLedgerResponse;
  readonly target: VerifyLedgerResponse;
}

/** Before anything else writes to the target. */
export async function requireSameCounts({ source, target }: Pick<Both, "source" | "target">): Promise<void> {
  for (const collection of COLLECTION_NAMES) {
    const [expected, found] = [await countOf(source, collection), await countOf(target, collection)];
    if (expected !== found)
      throw new ToolProblem(`The database has ${found} ${collection}, the folder ${expected}. Drop it and begin again.`);
  }
}

/** Without what promotion itself writes. */
async function countOf(store: Store, collection: (typeof COLLECTION_NAMES)[number]): Promise<number> {
  const own = collection === "settings" ? (await store.getMany("settings", [...FOLDER_SETTINGS, POSITION])).filter(Boolean).length : 0;
  return (await store.count(collection)) - own;
}

export async function requireValidLedger(store: Store, name: string, signal: AbortSignal): Promise<VerifyLedgerResponse> {
  const proof = await checkLedger(store, signal);
  if (proof.ok) return proof;
  throw new ToolProblem(`The ledger of the ${name} is not valid: ${proof.firstBad?.record ?? "sum"} ${proof.firstBad?.reason ?? ""}`);
}

/** Proves both ledgers valid and equal, and both audit logs. */
export async function prove({ source, target, signal }: Both): Promise<Promoted> {
  // One is bound by this process, the other by the database.
  const ledgers = Object.fromEntries(
    await Promise.all(
      Object.entries({ source, target }).map(async ([name, store]) => [name, await requireValidLedger(store, name, signal)] as const),
    ),
  ) as Pick<Promoted, "source" | "target">;
  for (const field of ["sum", "entries", "lastSeq", "hash", "accounts", "usageRows", "rollups"] as const) {
    const [expected, found] = [ledgers.source[field], ledgers.target[field]];
    if (expected !== found)
      throw new ToolProblem(`The ledgers differ: ${field} is ${found} in the database and ${expected} in the folder.`);
  }
  const [end, closed] = [await endOfChain(source), await endOfChain(target)];
  if (end !== closed) throw new ToolProblem(`The ledgers differ: the chain ends with ${closed} in the database and ${end} in the folder.`);
  const audits = { source: await checkAudit(source, signal), target: await checkAudit(target, signal) };
  if (audits.target.fault ?? audits.source.head.hash !== audits.target.head.hash) throw new ToolProblem("The audit logs differ.");
  let records = 0;
  for (const collection of COLLECTION_NAMES) records += await countOf(source, collection);
  return { records, blobs: await source.count("contents"), ...ledgers };
}

/** The last hash of the only chain of a store of one slot, or of the closed chain of a store of many. */
async function endOfChain(store: Store): Promise<string | undefined> {
  return ((await store.get("ledgerHead", "head")) ?? (await store.get("ledgerHead", "0")))?.hash;
}
