import { z } from "zod";
import { strategyNamed } from "../strategies/shared/registry.ts";
import type { GivenStrategy } from "../strategies/shared/strategy.ts";

/** Methods that make updates smaller on their way to the coordinator. */
const COMPRESSION_METHODS = ["float16", "int8", "top_k"] as const;
export type CompressionMethod = (typeof COMPRESSION_METHODS)[number];

const fields = z
  .strictObject({
    method: z.enum(COMPRESSION_METHODS, `must be one of: ${COMPRESSION_METHODS.join(", ")}`),
    /** Of top_k: share of each tensor's numbers that is sent; 0.05 where absent. */
    share: z.number().gt(0, "must be above 0").max(1, "must be at most 1").optional(),
  })
  .refine(({ method, share }) => share === undefined || method === "top_k", { path: ["share"], message: "is a setting of top_k" });

/** How participants compress their updates: a method alone, or with its settings. */
export const compressionSettings = z.preprocess((given) => (typeof given === "string" ? { method: given } : given), fields);
export type Compression = z.infer<typeof fields>;

interface Asked {
  readonly compression?: Compression | undefined;
  readonly secureAggregation?: unknown;
  readonly strategy: GivenStrategy;
}

/** What compression does not work with, by path. */
export function compressionProblems({ compression, secureAggregation, strategy }: Asked): { path: string[]; message: string }[] {
  if (!compression) return [];
  const { name, timing, carriesControls } = strategyNamed(strategy.name);
  const reasons = [
    secureAggregation === undefined ? "" : "secureAggregation: masked updates are random numbers, which do not get smaller",
    timing === "asynchronous" ? `the strategy ${name}: its updates may start from parameters that the coordinator has replaced` : "",
    carriesControls ? `the strategy ${name}: control variates have to be exact` : "",
  ];
  return reasons.filter((reason) => reason !== "").map((reason) => ({ path: ["compression"], message: `does not work with ${reason}` }));
}
