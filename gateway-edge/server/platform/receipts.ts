import type { z } from "zod";
import { billLines } from "../../../common/bill-lines.ts";
import { fromJson } from "../../../common/json.ts";
import { decimalUsd, UNROUNDED_PLACES } from "../../../common/money.ts";
import type { EdgeDeps } from "../../deps.ts";
import { idParams } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/proof.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { sent } from "./present.ts";

const tag = "Usage";

export function receiptOperations(deps: EdgeDeps): Operation[] {
  return [getReceipt(deps)];
}

/** Outside /api, at a well-known path for verifiers. */
export function receiptKeyOperations(deps: EdgeDeps): Operation[] {
  return [listKeys(deps)];
}

const getReceipt = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/logs/:id/receipt",
    summary: "A signed receipt of one call, which can be verified with the published keys",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.receiptAnswer,
    handler: async ({ params }, call) => {
      const { receiptJson, signature, keyId } = await control.proof.getReceipt(params, call.read());
      // The receipt is passed on as signed, so that its signature stays valid.
      const receipt = fromJson(receiptJson) as z.infer<typeof schemas.receiptRecord>;
      return { receipt, signature, keyId, algorithm: "Ed25519" as const, lines: presentLines(receipt) };
    },
  });

/** A receipt without prices has no lines, nor one without a charge: a cached response costs nothing. */
function presentLines({ usage, prices, cost }: z.infer<typeof schemas.receiptRecord>) {
  if (!prices || cost === 0n) return [];
  return billLines(usage, prices).map(({ unrounded, ...line }) => ({ ...line, costUsd: decimalUsd(unrounded, UNROUNDED_PLACES) }));
}

const listKeys = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/.well-known/tributary-receipts.json",
    summary: "The public keys of receipts, the current one first",
    tag,
    auth: "none",
    status: 200,
    answer: schemas.receiptKeysAnswer,
    handler: async (_input, call) => {
      const { keys } = await control.proof.listReceiptKeys({}, call.read());
      return {
        keys: keys.map(({ keyId, x, since }) => ({
          kty: "OKP" as const,
          crv: "Ed25519" as const,
          use: "sig" as const,
          alg: "EdDSA" as const,
          kid: keyId,
          x,
          since: sent(since, "since"),
        })),
      };
    },
  });
