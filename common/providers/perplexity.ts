import { anyModel, LIMITS, PENALTIES, STREAMING } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

const SEARCH = "web_search_options search_mode search_domain_filter search_recency_filter return_images return_related_questions";

export const perplexity = {
  kind: "perplexity",
  displayName: "Perplexity",
  prefixes: ["perplexity"],
  bareNames: /^sonar/,
  environment: { api_key: ["PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"] },
  baseUrl: "https://api.perplexity.ai",
  priceLists: ["perplexity"],
  operations: ["chat"],
  params: {
    chat: anyModel("max_tokens", `${LIMITS} ${STREAMING} temperature top_p ${PENALTIES} response_format top_k reasoning_effort ${SEARCH}`),
  },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
