import type { Inference } from "../../calls/create.ts";
import type { InferenceCall, InferenceResult } from "../../calls/inference/inference-call.ts";
import type { Job } from "../../calls/inference/job.ts";
import type { ProxiedAnswer } from "../../calls/inference/jobs/proxied.ts";
import { requireModel } from "../assistants/checks.ts";
import { chatJobOf, isNative, type JobInput, responseJob } from "./response-turn.ts";
import { loopedCall } from "./tool-loop.ts";
import { hasGatewayTools, openTools, type ToolDeps } from "./tools/open-tools.ts";

export type ResponseCallDeps = ToolDeps & { readonly inference: Pick<Inference, "run" | "routing" | "providers"> };

/** How a response is made: one call or, with tools of the gateway, as many as they need. */
export interface ResponseCall {
  /** The first call. */
  readonly job: Job<ProxiedAnswer>;
  run(call: InferenceCall<ProxiedAnswer>): Promise<InferenceResult<ProxiedAnswer>>;
}

/** Tools of the gateway are for models without the Responses API: others run tools of their own. */
export function isLooped(inference: Pick<Inference, "routing" | "providers">, input: Omit<JobInput, "items">): boolean {
  return hasGatewayTools(input.asked) && !isNative(inference, input);
}

export async function responseCall(deps: ResponseCallDeps, input: JobInput): Promise<ResponseCall> {
  const { inference } = deps;
  if (!isLooped(inference, input)) {
    return { job: responseJob(inference, input), run: (call) => inference.run(call) };
  }
  requireModel(input.caller, input.asked.model, inference.routing);
  const open = await openTools(deps, input);
  const looped = loopedCall(deps, open, input.items);
  return {
    // The casts are safe: answers are only read by whole-response.ts, which knows those of a loop.
    job: chatJobOf(open.asked, input.items) as unknown as Job<ProxiedAnswer>,
    run: (call) => looped(call) as unknown as Promise<InferenceResult<ProxiedAnswer>>,
  };
}
