import { randomBytes } from "node:crypto";
import type { FormCall } from "../provider.ts";

/** A form as bytes, written while the file is read: a recording of an hour never lies in our memory. */
export function writeForm(call: FormCall): { contentType: string; body: AsyncIterable<Uint8Array> } {
  // Chance, against the rule of pure adapters: a boundary that a file could contain would let its sender add fields.
  const boundary = `tributary-${randomBytes(16).toString("hex")}`;
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: writeParts(call, boundary) };
}

async function* writeParts({ fields, file }: FormCall, boundary: string): AsyncGenerator<Uint8Array> {
  for (const [name, value] of fields) yield Buffer.from(`${head(boundary, name)}\r\n\r\n${value}\r\n`);
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(file.contentType) ? file.contentType : "application/octet-stream";
  yield Buffer.from(`${head(boundary, "file")}; filename="${escaped(file.name)}"\r\ncontent-type: ${type}\r\n\r\n`);
  yield* file.content;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

function head(boundary: string, name: string): string {
  return `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"`;
}

/** As browsers do it (WHATWG): a quote or a line break may not end the header. */
function escaped(text: string): string {
  return text.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}
