import { NO_HASH } from "../domain/ledger.ts";
import type { Checkpoint } from "../domain/ledger-records.ts";
import type { LedgerHead } from "../domain/records.ts";
import type { LedgerSnapshot } from "./ledger-snapshot.ts";
import type { Chain } from "./walk-chain.ts";

/** Parts of chains that are walked at once. At its end the ledger is as the checkpoint says, if the stage has one. */
export interface Stage {
  readonly chains: readonly Chain[];
  readonly checkpoint?: Checkpoint;
}

/** The whole ledger: the closed chain, then the chains of the slots, both divided at the checkpoints. */
export function stagesOf(snapshot: LedgerSnapshot, checkpoints: readonly Checkpoint[]): Stage[] {
  const isOfClosed = ({ slots }: Checkpoint) => snapshot.closed !== undefined && slots !== snapshot.begins.length;
  return [
    ...closedStages(snapshot, checkpoints.filter(isOfClosed)),
    ...slotStages(
      snapshot,
      snapshot.begins,
      checkpoints.filter((checkpoint) => !isOfClosed(checkpoint)),
    ),
  ];
}

/** What was posted since a checkpoint. */
export function stagesSince(snapshot: LedgerSnapshot, checkpoint: Checkpoint): Stage[] {
  return slotStages(snapshot, headsOf(checkpoint, snapshot.begins), []);
}

/** A store of one slot that was copied into one of many had all its entries in one chain, which its checkpoints name as slot 0. */
function closedStages({ closed }: LedgerSnapshot, checkpoints: readonly Checkpoint[]): Stage[] {
  if (!closed) return [];
  let begin: Chain["begin"] = { seq: 0, hash: NO_HASH };
  const chainTo = (head: LedgerHead): Chain => {
    const chain = { begin, head, step: 1 };
    begin = head;
    return chain;
  };
  const stages = checkpoints.map((checkpoint) => {
    const [, seq, hash] = checkpoint.heads[0] ?? [0, 0, NO_HASH];
    return { chains: [chainTo({ id: closed.id, seq, hash })], checkpoint };
  });
  return [...stages, { chains: [chainTo(closed)] }];
}

function slotStages({ begins, heads }: LedgerSnapshot, from: readonly LedgerHead[], checkpoints: readonly Checkpoint[]): Stage[] {
  let reached = from;
  const chainsTo = (next: readonly LedgerHead[]): Chain[] => {
    const chains = reached.flatMap((begin, slot) => {
      const head = next[slot];
      return head ? [{ begin, head, step: begins.length, slot }] : [];
    });
    reached = next;
    return chains;
  };
  const stages = checkpoints.map((checkpoint) => ({ chains: chainsTo(headsOf(checkpoint, begins)), checkpoint }));
  return [...stages, { chains: chainsTo(heads) }];
}

/** The heads of all slots at a checkpoint. */
function headsOf({ heads }: Checkpoint, begins: readonly LedgerHead[]): LedgerHead[] {
  const named = new Map(heads.map(([slot, seq, hash]) => [slot, { id: String(slot), seq, hash }]));
  return begins.map((begin, slot) => named.get(slot) ?? begin);
}
