import { createHash } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { CliError, usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { EXIT } from "../../exit-codes.ts";
import { argument, filter, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";

/** `gw train download`: writes the trained parameters of a federation to a file. */
export const parameters: OperationSpec = {
  name: "download",
  summary: "Download the trained parameters of a federation or of one round",
  method: "GET",
  path: "/training/federations/:id/parameters",
  auth: "either",
  fields: [
    argument("id", "federation ID"),
    filter("--format <format>", "file format (default: safetensors if possible)", "format", { choices: ["safetensors", "npz", "raw"] }),
  ],
  view: {
    kind: "sentence",
    text: (body) =>
      `Wrote ${String(valueAt(body, "bytes"))} bytes to ${String(valueAt(body, "file"))}, sha256 ${String(valueAt(body, "sha256"))}.`,
    id: "file",
  },
};

export async function downloadParameters(
  context: Context,
  id: string,
  { round, format, out }: { round?: unknown; format?: unknown; out?: unknown },
): Promise<void> {
  if (typeof out !== "string") throw usageError("--out <file> is required.");
  if (round !== undefined && !/^[1-9][0-9]*$/.test(String(round))) throw usageError("--round must be a whole number of at least 1.");
  const path = `/training/federations/${encodeURIComponent(id)}${round === undefined ? "" : `/rounds/${String(round)}`}/parameters`;
  const query = { format: format === undefined ? undefined : String(format) };
  const response = await context.client.open({ method: "GET", path, query, auth: "either", untimed: true });
  const { bytes, sha256 } = await writeChecked(response, out);
  context.print.answer({ file: out, bytes: BigInt(bytes), sha256 }, parameters.view);
}

/** Writes to a temporary file and renames it once the content is complete and matches the ETag. */
export function writeChecked(response: Response, out: string): Promise<{ bytes: number; sha256: string }> {
  return writeResponse(response, out, (sha256) => {
    if (response.headers.get("etag") === `"${sha256}"`) return;
    throw new CliError(EXIT.failure, { error: "The downloaded file does not match its checksum. Try again.", code: "DOWNLOAD_BROKEN" });
  });
}

/** Writes to a temporary file and renames it once the content is complete and accepted. */
export async function writeResponse(
  response: Response,
  out: string,
  requireHash: (sha256: string) => void = () => {},
): Promise<{ bytes: number; sha256: string }> {
  const partial = `${out}.partial`;
  const file = await open(partial, "w").catch((error: Error) => {
    throw usageError(`${out} cannot be written: ${error.message}`);
  });
  const digest = createHash("sha256");
  let bytes = 0;
  try {
    for await (const piece of response.body ?? []) {
      digest.update(piece);
      bytes += piece.byteLength;
      await file.writeFile(piece);
    }
    const sha256 = digest.digest("hex");
    requireHash(sha256);
    await file.close();
    await rename(partial, out);
    return { bytes, sha256 };
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}
