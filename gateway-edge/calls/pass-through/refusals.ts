import { AppError } from "../../../common/errors.ts";
import { refuseContainer, refuseFields } from "../../schemas/refused-fields.ts";
import { refuseUnpriced as refusePricedApart } from "../../upstream/providers/anthropic/unpriced.ts";
import { refuseClosedReferences } from "../../upstream/providers/shared/open-references.ts";
import type { PricedCall } from "./price-call.ts";

/** Refuses what is for the master key alone. */
export function refuseCall(call: PricedCall, body: Buffer): void {
  refuseUnpriced(call);
  refuseOperators(call, body);
}

/** A call that passes through is billed by the tokens of a model with a price, as its answer reports them, and by nothing else. */
function refuseUnpriced(call: PricedCall): void {
  const { operation, model, otherModel, prices, unit, beside } = call;
  if (operation === undefined) {
    const why = "Calls that pass through are billed by the tokens that their answers report, and this path has no such answers.";
    throw new AppError("INVALID_REQUEST", `${why} ${ELSEWHERE}`);
  }
  if (otherModel !== undefined) {
    const why = `The request names two models, ${model} and ${otherModel}.`;
    throw new AppError("INVALID_REQUEST", `${why} Leave model out of the body, or send that of the path.`, { param: "model" });
  }
  if (operation === "free") return;
  if (!prices) {
    const isCounted = unit === undefined || unit === "token";
    const unknown = "The price of this call is not known: the request names no model with a price.";
    const other = `The model ${model} is priced by the ${unit}, and calls that pass through are billed by tokens only. ${ELSEWHERE}`;
    throw new AppError("INVALID_REQUEST", isCounted ? unknown : other, { param: "model" });
  }
  refuseLater(call);
  if (beside === undefined) return;
  const { what, param, isBilledElsewhere } = beside;
  const advice = isBilledElsewhere ? "Use /v1/responses, /v1/messages or /v1/chat/completions, or the master key." : "Use the master key.";
  const message = `The provider bills ${what} beside the tokens, and calls that pass through are billed by tokens only. ${advice}`;
  throw new AppError("INVALID_REQUEST", message, { param });
}

const ELSEWHERE = "Use the gateway's own API for it, or the master key.";

/** OpenAI's and xAI's fields for an answer that is asked for later. */
const LATER = ["background", "deferred"];

function refuseLater({ fields }: PricedCall): void {
  const param = LATER.find((name) => (fields?.[name] ?? false) !== false);
  if (param === undefined) return;
  const why = `With ${param} the answer does not come with the call, which is billed by it.`;
  throw new AppError("INVALID_REQUEST", `${why} Leave it out, or use /v1/responses of the gateway.`, { param });
}

/** What is refused from clients in the gateway's own APIs: the provider cannot tell the tenants from the operator here either. */
function refuseOperators({ fields }: PricedCall, body: Buffer): void {
  if (fields) {
    refuseFields(fields);
    refuseContainer(fields["container"]);
    refuseClosedReferences(fields);
    refusePricedApart(fields);
  } else if (body.length > 0) {
    // Providers read texts as JSON that are none here, and nothing would have checked them.
    throw new AppError("INVALID_JSON", "The body is not a JSON object.");
  }
}
