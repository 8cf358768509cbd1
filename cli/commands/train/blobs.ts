import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import { onAction, registerGroup, registerOperation } from "../../operations/register.ts";
import { argument, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";
import { parameters, writeChecked } from "./train-parameters.ts";

const digest = argument("sha256", "SHA-256 of the bytes, 64 hex digits");
const path = "/training/blobs/:sha256";

const upload: OperationSpec = {
  name: "upload",
  summary: "Upload parameters, to publish them with gw train models publish --blob",
  method: "PUT",
  path,
  auth: "either",
  fields: [argument("file", "file with the parameters", "sha256")],
  view: {
    kind: "sentence",
    text: (body) => `Stored ${String(valueAt(body, "blob.bytes"))} bytes as ${String(valueAt(body, "blob.sha256"))}.`,
    id: "blob.sha256",
  },
};

const download: OperationSpec = {
  name: "download",
  summary: "Download a blob of your organization",
  method: "GET",
  path,
  auth: "either",
  fields: [digest],
  view: parameters.view,
};

const remove: OperationSpec = {
  name: "delete",
  summary: "Delete a blob that your organization uploaded",
  method: "DELETE",
  path,
  auth: "either",
  fields: [digest],
  confirm: "Delete the blob {args}?",
  view: { kind: "sentence", text: () => "Deleted.", id: "sha256" },
};

/** `gw train blobs`: parameters of the organization at the coordinator. */
export function registerBlobs(train: Command, io: Io): void {
  const group = registerGroup(train, io, { name: "blobs", summary: "Uploaded parameters", operations: [remove] });
  onAction(registerOperation(group, io, upload), io, (context, words) => uploadBlob(context, words[0] ?? ""));
  const downloading = registerOperation(group, io, download).option("--out <file>", "output file");
  onAction(downloading, io, (context, words, options) => downloadBlob(context, words[0] ?? "", options["out"]));
}

async function uploadBlob(context: Context, file: string): Promise<void> {
  const content = await fileContent(file);
  const hash = createHash("sha256");
  for await (const piece of content.stream()) hash.update(piece);
  const { body } = await context.client.send({ method: "PUT", path: pathOf(hash.digest("hex")), auth: "either", content });
  context.print.answer(body, upload.view);
}

/** A file that cannot be opened is thrown at once, not as a rejection. */
async function fileContent(file: string): Promise<Blob> {
  try {
    return await openAsBlob(file);
  } catch (error) {
    throw usageError(`${file} cannot be read: ${String(error)}`);
  }
}

async function downloadBlob(context: Context, sha256: string, out: unknown): Promise<void> {
  if (typeof out !== "string") throw usageError("--out <file> is required.");
  const response = await context.client.open({ method: "GET", path: pathOf(sha256), auth: "either", untimed: true });
  const written = await writeChecked(response, out);
  context.print.answer({ file: out, bytes: BigInt(written.bytes), sha256: written.sha256 }, download.view);
}

const pathOf = (sha256: string): string => path.replace(":sha256", encodeURIComponent(sha256));
