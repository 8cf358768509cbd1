import { LIMITS, STREAMING, words } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

const PARAMS = words(`${LIMITS} n stop ${STREAMING} user`);

/** The built-in provider: an edge answers by itself. */
export const echo = {
  kind: "echo",
  displayName: "Echo (built in)",
  prefixes: ["echo"],
  bareNames: /^echo$/,
  environment: {},
  noClientParams: "the gateway itself answers for them",
  operations: ["chat", "embeddings", "moderations", "speech", "transcriptions", "translations", "images", "imageEdits", "rerank"],
  params: { chat: () => PARAMS },
} satisfies ProviderKind;
