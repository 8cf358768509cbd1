import type { Model, Trained } from "../../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { readFields } from "../../../upstream/routing/lenient.ts";

/** What a list of models says of one that was trained here, beside OpenAI's fields: what it is for, its price, and where it comes from. */
export function trainedFacts(model: Model | undefined) {
  if (!model?.trained) return {};
  const { unit = "token", input = 0n, output = 0n } = model.pricing ?? {};
  return {
    type: model.type,
    pricing: { unit, input, output },
    trained: presentTrained(model.trained),
  };
}

export function presentTrained({ task, version, blob, federationId, round, participants, accuracy, lineageJson }: Trained) {
  return {
    // What made it: the federation, or else the task alone.
    taskId: federationId ?? task,
    task,
    version,
    round: round ?? null,
    participants: participants ?? null,
    accuracy: accuracy ?? null,
    blob: blob ?? null,
    lineage: readFields(lineageJson),
  };
}
