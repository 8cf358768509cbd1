import type { Organization } from "../../api/types.ts";

type SemanticCache = Organization["semanticCache"];

/** The fields of the form; empty ones are the operator's. */
export interface SemanticValues {
  readonly mode: "operator" | "on" | "off";
  readonly threshold: number | "";
  readonly embeddingModel: string;
}

export function semanticValues(setting: SemanticCache): SemanticValues {
  if (!setting) return { mode: "operator", threshold: "", embeddingModel: "" };
  return { mode: setting.enabled ? "on" : "off", threshold: setting.threshold ?? "", embeddingModel: setting.embeddingModel ?? "" };
}

/** Null leaves the whole setting to the operator. */
export function semanticSetting({ mode, threshold, embeddingModel }: SemanticValues): SemanticCache {
  if (mode === "operator") return null;
  const model = embeddingModel.trim();
  return { enabled: mode === "on", threshold: threshold === "" ? null : threshold, embeddingModel: model === "" ? null : model };
}

export function thresholdProblem(threshold: number | ""): string | null {
  return threshold === "" || (threshold > 0 && threshold <= 1) ? null : "Enter a number above 0 and at most 1";
}

/** Where the value in force comes from. */
export function sourceText(setting: SemanticCache): string {
  if (!setting) return "Source: the operator's cache settings.";
  const open = [...(setting.threshold === null ? ["similarity"] : []), ...(setting.embeddingModel === null ? ["embedding model"] : [])];
  const rest = setting.enabled && open.length > 0 ? `; ${open.join(" and ")}: the operator's cache settings` : "";
  return `Source: this organization${rest}.`;
}
