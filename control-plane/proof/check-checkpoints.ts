import { CHECKPOINTS, checkpointHash } from "../domain/checkpoints.ts";
import { NO_HASH } from "../domain/ledger.ts";
import type { Checkpoint } from "../domain/ledger-records.ts";
import type { Account } from "../domain/records.ts";
import type { Reader, Store } from "../stores/store.ts";
import { hashAccounts } from "./hash-accounts.ts";
import type { LedgerFault } from "./ledger-fault.ts";
import { inPages } from "./pages.ts";

/** Checkpoints as far as they were checked. */
export interface CheckpointsCheck {
  readonly checkpoints: readonly Checkpoint[];
  readonly fault: LedgerFault | undefined;
}

/**
 * Reads all checkpoints up to the newest: none is missing, each follows from the one before, and its anchor is there. They must be read before the heads
 * that they are compared with, which only move on.
 */
export async function readCheckpoints(store: Store, signal: AbortSignal): Promise<CheckpointsCheck> {
  const newest = await store.get("counters", CHECKPOINTS);
  const number = newest?.value ?? 0;
  const checkpoints: Checkpoint[] = [];
  for await (const page of inPages(store, "checkpoints", { range: { before: number + 1 }, signal })) {
    for (const checkpoint of page) {
      const reason = await problemAfter(store, checkpoints.at(-1), checkpoint);
      if (reason) return { checkpoints, fault: badCheckpoint(checkpoint.id, reason) };
      checkpoints.push(checkpoint);
    }
  }
  const last = checkpoints.at(-1);
  const reason =
    (last?.id ?? 0) !== number
      ? `the checkpoints end at ${last?.id ?? 0}, the newest is ${number}`
      : last && last.hash !== newest?.hash
        ? "its hash is not the newest checkpoint's"
        : undefined;
  return { checkpoints, fault: reason === undefined ? undefined : badCheckpoint(number, reason) };
}

/** The newest checkpoint alone, for a check that begins there; none if the store was divided into other slots since. */
export async function readNewestCheckpoint(store: Store): Promise<CheckpointsCheck> {
  const newest = await store.get("counters", CHECKPOINTS);
  if (!newest) return { checkpoints: [], fault: undefined };
  const checkpoint = await store.get("checkpoints", newest.value);
  if (!checkpoint) return { checkpoints: [], fault: badCheckpoint(newest.value, "it is missing") };
  if (checkpoint.slots !== store.slots) return { checkpoints: [], fault: undefined };
  const reason =
    (checkpoint.hash === newest.hash ? contentProblem(checkpoint) : "its hash is not the newest checkpoint's") ??
    (await anchorProblem(store, checkpoint)) ??
    (await headProblem(store, checkpoint));
  return { checkpoints: [checkpoint], fault: reason === undefined ? undefined : badCheckpoint(checkpoint.id, reason) };
}

/** Compares a checkpoint with what the entries before it make. */
export async function compareCheckpoint(
  checkpoint: Checkpoint,
  rebuilt: { readonly entries: number; readonly accounts: ReadonlyMap<string, Account> },
): Promise<LedgerFault | undefined> {
  const { id, entries, accountsHash } = checkpoint;
  if (entries !== rebuilt.entries) return badCheckpoint(id, `it counts ${entries} entries, there are ${rebuilt.entries}`);
  const isSame = (await hashAccounts(rebuilt.accounts)) === accountsHash;
  return isSame ? undefined : badCheckpoint(id, "the accounts that the entries before it make are not those that it was written with");
}

export function badCheckpoint(number: number, reason: string): LedgerFault {
  return { kind: "checkpoint", seq: 0, record: `checkpoint ${number}`, reason };
}

async function problemAfter(reader: Reader, before: Checkpoint | undefined, checkpoint: Checkpoint): Promise<string | undefined> {
  const expected = (before?.id ?? 0) + 1;
  if (checkpoint.id !== expected) return `checkpoint ${expected} is missing`;
  if (checkpoint.previous !== (before?.hash ?? NO_HASH)) return "the hash does not follow from the checkpoint before";
  return contentProblem(checkpoint) ?? (await anchorProblem(reader, checkpoint));
}

function contentProblem({ hash, ...content }: Checkpoint): string | undefined {
  return checkpointHash(content) === hash ? undefined : "its content does not have its hash";
}

async function anchorProblem(reader: Reader, { anchor, anchorHash }: Checkpoint): Promise<string | undefined> {
  const found = anchor === 0 ? NO_HASH : (await reader.get("anchors", anchor))?.hash;
  return found === anchorHash ? undefined : `anchor ${anchor}, which it names, ${found === undefined ? "is missing" : "has another hash"}`;
}

async function headProblem(reader: Reader, { heads }: Checkpoint): Promise<string | undefined> {
  const entries = await reader.getMany(
    "ledger",
    heads.map(([, seq]) => seq),
  );
  const wrong = heads.find(([, , hash], index) => entries[index]?.hash !== hash);
  return wrong && `slot ${wrong[0]} was at entry ${wrong[1]}, which is missing or has another hash now`;
}
