import { valueAt } from "../output/values.ts";
import type { Check, CheckState } from "./check.ts";

/** Two clusters that any classifier can separate. */
const dataset = Array.from({ length: 20 }, (_, index) => ({ f0: (index % 2) + index / 100, f1: 1 - (index % 2), label: index % 2 }));
const config = { epochs: 2, lr: 0.5, seed: 1 };

const participant = (check: Omit<Check, "document" | "auth" | "method">): Check => ({
  document: "participant",
  method: "POST",
  auth: "none",
  ...check,
});

export const participantChecks: readonly Check[] = [
  participant({
    path: "/train",
    body: () => ({ parameters: null, dataset, config }),
    shape: { parameters: "string" },
    inspect: ({ body }) => (isBase64(valueAt(body, "parameters")) ? undefined : "parameters is not base64"),
    save: (state, body) => {
      state.parameters = String(valueAt(body, "parameters"));
    },
  }),
  participant({ path: "/evaluate", body: ({ parameters }: CheckState) => ({ parameters, dataset }), shape: { accuracy: "number" } }),
  participant({
    path: "/aggregate",
    body: ({ parameters }: CheckState) => ({ parameters_list: [parameters, parameters] }),
    shape: { parameters: "string" },
    inspect: ({ body }) => (isBase64(valueAt(body, "parameters")) ? undefined : "parameters is not base64"),
  }),
];

const isBase64 = (value: unknown): boolean => typeof value === "string" && value.length > 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(value);
