import type { z } from "zod";
import type { CheckpointName } from "../../../../proto/gen/tributary/ledger/v1/ledger.ts";
import type { OrganizationReplay, Repricing } from "../../../../proto/gen/tributary/proof/v1/proof.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/proof.ts";
import { DEADLINE_MS, type Operation, operation } from "../../middleware/operation.ts";
import { money, presentList, sent } from "../present.ts";

const tag = "Admin";
const auth = "admin";

/** Verification for operators: read-only. The master key is accepted too, so that scripts need no password. */
export function adminLedgerOperations(deps: EdgeDeps): Operation[] {
  return [verifyLedger(deps), replayLedger(deps)];
}

const verifyLedger = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/ledger/verify",
    summary:
      "Verify the ledger: its hash chains, checkpoints, anchors, balances, charged calls and roll-ups; with `mode=fast`, what was written since the newest checkpoint",
    tag,
    auth,
    query: schemas.verifyLedgerQuery,
    status: 200,
    answer: schemas.verifyLedgerAnswer,
    handler: async ({ query: { mode } }, call) => {
      const deadlineMs = mode === "fast" ? DEADLINE_MS.verify : DEADLINE_MS.verifyAll;
      const verified = await control.ledger.verifyLedger({ fast: mode === "fast" }, call.read(deadlineMs));
      const { ok, entries, sum, lastSeq, hash, anchors, firstBad, accounts, usageRows, rollups, checkpoint } = verified;
      const began = checkpoint && { checkpoint: presentCheckpoint(checkpoint) };
      const counts = { accounts, usageRows, rollups };
      return { ok, entries, sum, lastSeq, hash, anchors, firstBad: firstBad ? presentBad(firstBad) : null, ...counts, ...began };
    },
  });

const replayLedger = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/ledger/replay",
    summary: "Recompute balances from ledger entries as of a time; with `withPrices`, what calls would have cost at another time's prices",
    tag,
    auth,
    query: schemas.replayQuery,
    status: 200,
    answer: schemas.replayAnswer,
    handler: async ({ query: { page, pageSize, asOf, withPrices } }, call) => {
      const replayed = await control.proof.replayLedger({ page: { page, pageSize }, asOf, withPrices }, call.read(DEADLINE_MS.verify));
      const { firstRollupDifference: difference } = replayed;
      return {
        ...presentList(replayed.organizations, replayed.meta, presentReplay),
        asOf: sent(replayed.asOf, "asOf"),
        withPrices: withPrices ?? null,
        rollups: {
          equal: difference === undefined,
          firstDifference: difference
            ? { organizationId: difference.organizationId, rollupId: difference.rollupId, reason: difference.reason }
            : null,
        },
      };
    },
  });

function presentBad({ seq, reason, kind, record }: { seq: bigint; reason: string; kind: string; record: string }) {
  return { seq, reason, kind, record };
}

function presentCheckpoint({ number, at }: CheckpointName) {
  return { number, at: sent(at, "at") };
}

function presentReplay(replay: OrganizationReplay): z.infer<typeof schemas.organizationReplayRecord> {
  const { organizationId, name, balance, entries, lastSeq, repricing } = replay;
  return {
    organizationId,
    name,
    ...money("balance", balance),
    entries,
    lastSeq,
    repricing: repricing ? presentRepricing(repricing) : null,
  };
}

function presentRepricing({ charged, repriced, repricedCalls, keptCalls }: Repricing) {
  return {
    ...money("charged", charged),
    ...money("repriced", repriced),
    ...money("difference", repriced - charged),
    repricedCalls,
    keptCalls,
  };
}
