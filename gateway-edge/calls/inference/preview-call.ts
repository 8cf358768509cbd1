import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { UpstreamRequest } from "../../upstream/providers/provider.ts";
import { targetOf } from "../../upstream/target.ts";
import type { Job } from "./job.ts";
import { ableDeployments, outputAt, type PlanDeps, planCall } from "./plan-call.ts";

/** The request that a call would send to the first deployment that may serve it. Admitted like the call; nothing is reserved or sent. */
export function previewCall(
  deps: PlanDeps,
  { caller, job, dropParams }: { caller: Caller; job: Job<unknown>; dropParams: boolean },
): { deployment: Deployment; request: UpstreamRequest } {
  planCall(deps, { caller, job, alternatives: [], routing: { dropParams } });
  const [deployment] = ableDeployments(deps, { caller, job }, job.model);
  const provider = deployment && deps.providers.get(deployment.providerKind);
  if (!deployment || !provider) throw new Error("a plan without a deployment");
  const target = targetOf(deployment);
  const [first = job] = job.pieces?.(provider, target)?.jobs ?? [];
  return { deployment, request: first.request({ provider, target, maxOutputTokens: outputAt(deployment, job), dropParams }) };
}
