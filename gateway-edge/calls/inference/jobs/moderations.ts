import type { ModerationsRequest } from "../../../schemas/calls/moderations.ts";
import type { Fields, ModerationsAdapter, Provider } from "../../../upstream/providers/provider.ts";
import type { Job } from "../job.ts";
import { providerFields } from "./gateway-fields.ts";

export function moderationsJob(request: ModerationsRequest): Job<Fields> {
  return {
    operation: "moderations",
    model: request.model,
    stream: false,
    choiceCount: 1,
    maxOutputTokens: 0,
    endUser: undefined,
    tags: [],
    countInput: (counter) => textsOf(request.input).reduce((sum, text) => sum + counter.countText(text), 0),
    isOfferedBy: (provider) => provider.moderations !== undefined,
    request: ({ provider, target }) => adapterOf(provider).buildRequest({ body: providerFields(request) }, target),
    readAnswer: (provider, body) => ({ answer: adapterOf(provider).readAnswer(body), usage: undefined, texts: [] }),
    readStream: () => {
      throw new Error("moderations have no stream");
    },
    // Guardrails do not apply: a caller must be able to check a bad text.
    traits: () => ({ request, cacheable: { isWhole: () => true } }),
  };
}

function adapterOf(provider: Provider): ModerationsAdapter {
  if (!provider.moderations) throw new Error(`${provider.kind} has no moderations`);
  return provider.moderations;
}

/** Each text alone: a text in a list costs as much as by itself. */
function textsOf(input: ModerationsRequest["input"]): string[] {
  if (typeof input === "string") return [input];
  return input.map((entry) => (typeof entry === "string" ? entry : JSON.stringify(entry)));
}
