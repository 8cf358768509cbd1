import { completionsExchange } from "../../../calls/formats/completions.ts";
import { parseCompletionsRequest } from "../../../schemas/calls/completions.ts";
import type { CallRoute } from "../gate.ts";
import type { CallDeps } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";

/** POST completions, on each of its paths; `?model=` names the model if the path does not. */
export function completionsHandler(deps: CallDeps): CallRoute["handler"] {
  return callHandler(deps, "/v1/completions", ({ request, body, pathModel: inPath }) => {
    const pathModel = inPath ?? (typeof request.query["model"] === "string" ? request.query["model"] : undefined);
    return { ...completionsExchange(parseCompletionsRequest(body, pathModel)), pathModel };
  });
}
