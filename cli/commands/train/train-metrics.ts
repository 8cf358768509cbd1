import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { argument, filter, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";
import { writeResponse } from "./train-parameters.ts";

const path = "/training/federations/:id/metrics";

/** `gw train metrics`: writes the metrics of a federation's rounds to a file. */
export const metrics: OperationSpec = {
  name: "metrics",
  summary: "Export the metrics of a federation's rounds: means and per participant",
  method: "GET",
  path,
  auth: "either",
  fields: [
    argument("id", "federation ID"),
    filter("--format <format>", "file format (default: json)", "format", { choices: ["json", "csv", "tensorboard"] }),
  ],
  view: {
    kind: "sentence",
    text: (body) => `Wrote ${String(valueAt(body, "bytes"))} bytes to ${String(valueAt(body, "file"))}.`,
    id: "file",
  },
};

export async function exportMetrics(context: Context, id: string, { format, out }: { format?: unknown; out?: unknown }): Promise<void> {
  if (typeof out !== "string") throw usageError("--out <file> is required.");
  const request = { method: "GET", path: path.replace(":id", encodeURIComponent(id)), auth: "either", untimed: true } as const;
  const response = await context.client.open({ ...request, query: { format: format === undefined ? undefined : String(format) } });
  const { bytes } = await writeResponse(response, out);
  context.print.answer({ file: out, bytes: BigInt(bytes) }, metrics.view);
}
