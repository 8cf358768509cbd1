import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { canonicalJson } from "../../../common/json.ts";
import type { OrganizationReplay, ProofServiceService, RollupDifference } from "../../../proto/gen/tributary/proof/v1/proof.ts";
import type { Organization } from "../../domain/records.ts";
import { checkRollups } from "../../proof/check-rollups.ts";
import { PriceBook } from "../../proof/price-book.ts";
import { receiptOf } from "../../proof/receipt.ts";
import { publishedKeys } from "../../proof/receipt-keys.ts";
import { replayBalance, repriceCalls } from "../../proof/replay.ts";
import { readPage } from "../../stores/page.ts";
import { requireActor, requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { requireRow } from "../usage/query.ts";

type Handlers = ServiceHandlers<typeof ProofServiceService>;

export function proofHandlers(deps: ControlDeps): Handlers {
  return { replayLedger: replayLedger(deps), getReceipt: getReceipt(deps), listReceiptKeys: listReceiptKeys(deps) };
}

const replayLedger =
  (deps: ControlDeps): Handlers["replayLedger"] =>
  async (request, context) => {
    await requireAdmin(deps, context);
    await deps.edges.caughtUp();
    const page = pageOf(request.page);
    const asOf = request.asOf?.getTime() ?? deps.clock.now();
    const { records, total } = await readPage(deps.store, "organizations", page);
    const replay = { asOf, pricesAt: request.withPrices?.getTime(), signal: context.signal };
    const organizations: OrganizationReplay[] = [];
    let firstRollupDifference: RollupDifference | undefined;
    for (const organization of records) {
      organizations.push(await replayOrganization(deps, organization, replay));
      firstRollupDifference ??= (await checkRollups(deps.store, { organizationId: organization.id, signal: context.signal })).difference;
    }
    return { asOf: date(asOf), organizations, meta: metaOf(page, total), firstRollupDifference };
  };

async function replayOrganization(
  { store, gateway }: ControlDeps,
  { id, name }: Organization,
  { asOf, pricesAt, signal }: { asOf: number; pricesAt: number | undefined; signal: AbortSignal },
): Promise<OrganizationReplay> {
  const options = { organizationId: id, asOf, signal };
  const { balance, entries, lastSeq } = await replayBalance(store, options);
  const found = { organizationId: id, name, balance, entries: BigInt(entries), lastSeq: BigInt(lastSeq) };
  if (pricesAt === undefined) return { ...found, repricing: undefined };
  const book = new PriceBook(store, gateway.current);
  const { charged, repriced, repricedCalls, keptCalls } = await repriceCalls(store, { ...options, book, pricesAt });
  return { ...found, repricing: { charged, repriced, repricedCalls: BigInt(repricedCalls), keptCalls: BigInt(keptCalls) } };
}

const getReceipt =
  (deps: ControlDeps): Handlers["getReceipt"] =>
  async (request, context) => {
    const row = await requireRow(deps, await requireActor(deps, context), request.id);
    const [entry, price] = await Promise.all([
      row.ledgerSeq === undefined ? undefined : deps.store.get("ledger", row.ledgerSeq),
      new PriceBook(deps.store, deps.gateway.current).priceOf(row),
    ]);
    const receipt = receiptOf(row, { entry, price });
    return { receiptJson: canonicalJson(receipt), signature: deps.receipts.sign(receipt), keyId: deps.receipts.key.kid };
  };

const listReceiptKeys =
  (deps: ControlDeps): Handlers["listReceiptKeys"] =>
  async () => ({
    keys: (await publishedKeys(deps.store, deps.receipts)).map(({ keyId, x, since }) => ({ keyId, x, since: date(since) })),
  });
