import { valueAt } from "../output/values.ts";
import type { Check, World } from "./check.ts";

/** Two clusters that any classifier can separate. */
const dataset = Array.from({ length: 20 }, (_, index) => ({ f0: (index % 2) + index / 100, f1: 1 - (index % 2), label: index % 2 }));
const config = { epochs: 2, lr: 0.5, seed: 1 };

const participant = (check: Omit<Check, "document" | "carrier" | "method">): Check => ({
  document: "participant",
  method: "POST",
  carrier: "none",
  ...check,
});

export const participantChecks: readonly Check[] = [
  participant({
    path: "/train",
    body: () => ({ parameters: null, dataset, config }),
    shape: { parameters: "string" },
    look: ({ body }) => (isBase64(valueAt(body, "parameters")) ? undefined : "parameters is not base64"),
    keep: (world, body) => {
      world.parameters = String(valueAt(body, "parameters"));
    },
  }),
  participant({ path: "/evaluate", body: ({ parameters }: World) => ({ parameters, dataset }), shape: { accuracy: "number" } }),
  participant({
    path: "/aggregate",
    body: ({ parameters }: World) => ({ parameters_list: [parameters, parameters] }),
    shape: { parameters: "string" },
    look: ({ body }) => (isBase64(valueAt(body, "parameters")) ? undefined : "parameters is not base64"),
  }),
];

const isBase64 = (value: unknown): boolean => typeof value === "string" && value.length > 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(value);
