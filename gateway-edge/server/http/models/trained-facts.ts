import type { Model, Trained } from "../../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { readFields } from "../../../upstream/routing/lenient.ts";

/** Additional fields of a trained model in the model list: type, price and origin. */
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
    // The federation that trained it, or the task if there is none.
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
