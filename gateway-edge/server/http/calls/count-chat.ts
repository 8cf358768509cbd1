import type { CancelSignal } from "../../../../common/cancel.ts";
import { toJson } from "../../../../common/json.ts";
import type { Caller, Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../../calls/create.ts";
import { plainMessages } from "../../../calls/dialects/plain-messages.ts";
import { modelNotAllowed, modelNotFound } from "../../../calls/inference/admit.ts";
import type { ChatMessage } from "../../../upstream/providers/provider.ts";

type CountingInference = Pick<Inference, "routing" | "providers" | "countRemotely" | "countFreely">;

/** The deployment that a count is for: one of those that the key may use. */
export function countedDeployment({ routing }: CountingInference, caller: Caller, model: string): Deployment {
  const [deployment] = routing.candidates(model, caller);
  if (deployment) return deployment;
  // The candidates are those that the key may use; the group is there for every key of the organization.
  throw routing.groupOf(model, caller) ? modelNotAllowed(model, "model") : modelNotFound(model, "model");
}

export interface CountedChat {
  readonly deployment: Deployment;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[] | undefined;
  readonly signal: CancelSignal;
  readonly keyId: string;
  /** The provider was asked already. */
  readonly isLocal?: boolean;
}

/** The input tokens of a chat: counted by the provider if it offers that, otherwise by the gateway. Not billed. */
export async function countChat({ providers, countRemotely, countFreely }: CountingInference, counted: CountedChat): Promise<number> {
  const { deployment, tools, signal, keyId, isLocal = false } = counted;
  const provider = providers.get(deployment.providerKind);
  const takesBlocks = provider?.chat?.takesBlocks?.(deployment.inferenceModelId) === true;
  const messages = takesBlocks ? counted.messages : plainMessages(counted.messages);
  const remote = isLocal ? undefined : await countRemotely({ deployment, asked: { messages, tools }, signal });
  if (remote?.type === "counted") return remote.tokens;
  if (provider?.counter) return provider.counter.countMessages(messages) + (tools ? provider.counter.countText(toJson(tools)) : 0);
  return await countFreely(keyId, deployment.inferenceModelId, { messages, tools });
}
