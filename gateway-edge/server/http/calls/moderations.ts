import { toJson } from "../../../../common/json.ts";
import type { ResponseFormat } from "../../../calls/formats/response-format.ts";
import { moderationsJob } from "../../../calls/inference/jobs/moderations.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { parseModerationsRequest } from "../../../schemas/calls/moderations.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import type { CallRoute } from "../gate.ts";
import type { CallDeps } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";

/** POST moderations. */
export function moderationsHandler(deps: CallDeps): CallRoute["handler"] {
  return callHandler(deps, "/v1/moderations", ({ body }) => {
    const asked = parseModerationsRequest(body);
    const format: ResponseFormat<Fields> = { whole: (answer, { model }) => toJson({ ...answer, model }) };
    return { job: moderationsJob(asked), routing: routingOf(asked), format };
  });
}
