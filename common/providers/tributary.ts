import { anyModel, LIMITS, STREAMING } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

/** Trainer nodes, which answer for models that were trained here. */
export const tributary = {
  kind: "tributary",
  displayName: "Tributary trainer node",
  prefixes: ["tributary"],
  environment: { api_key: ["TRAINER_TOKEN"] },
  needsBaseUrl: true,
  isLocal: true,
  noClientParams: "trainer nodes answer for them",
  operations: ["chat", "completions", "embeddings", "moderations"],
  params: { chat: anyModel("max_tokens", `${LIMITS} n temperature top_p seed stop ${STREAMING} user`) },
  compatible: {},
} satisfies ProviderKind;
