import { AppError } from "../../../../common/errors.ts";
import type { Fields } from "../provider.ts";
import { asFields, asList, asText } from "../shared/json-fields.ts";

/** Refuses what Anthropic bills at other prices than the model's: a call's bill has one price for each class of tokens. */
export function refuseUnpriced(body: Fields): void {
  const { speed, inference_geo: place, tools } = body;
  if (asText(speed) !== undefined && speed !== "standard")
    throw unpriced("speed", `speed ${String(speed)} costs a multiple of the model's price`);
  if (asText(place) !== undefined && place !== "global") throw unpriced("inference_geo", `inference_geo ${String(place)} has a surcharge`);
  const at = asList(tools).findIndex((tool) => asText(asFields(tool)["type"])?.startsWith("advisor_"));
  if (at >= 0) throw unpriced(`tools[${at}].type`, "the advisor tool is billed at the price of another model");
}

function unpriced(param: string, why: string): AppError {
  return new AppError("INVALID_REQUEST", `${param}: ${why}, which this gateway cannot bill yet. Leave it out.`, { param });
}
