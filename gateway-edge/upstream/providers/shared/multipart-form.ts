import { uniqueName } from "../../../../common/random.ts";
import type { FormCall, FormField, FormFile } from "../provider.ts";

export interface WrittenForm {
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array>;
  /** Where all sizes are known: some servers refuse a form without a Content-Length. */
  readonly bodyBytes: number | undefined;
}

/** A form as bytes, written while the files are read: a recording of an hour is never in memory as a whole. */
export function writeForm(call: FormCall): WrittenForm {
  // Random, against the rule of pure adapters: a boundary that a file could contain would let its sender add fields.
  const boundary = `tributary-${uniqueName()}`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: writeParts(call, boundary),
    bodyBytes: lengthOf(call, boundary),
  };
}

async function* writeParts({ fields, files, laterFields }: FormCall, boundary: string): AsyncGenerator<Uint8Array> {
  for (const field of fields) yield fieldPart(boundary, field);
  for (const file of files) {
    yield fileHead(boundary, file);
    yield* file.content;
    yield LINE_END;
  }
  for (const field of (await laterFields?.()) ?? []) yield fieldPart(boundary, field);
  yield lastLine(boundary);
}

function lengthOf({ fields, files, laterFields }: FormCall, boundary: string): number | undefined {
  if (laterFields || files.some(({ size }) => size === undefined)) return undefined;
  const fieldBytes = fields.reduce((sum, field) => sum + fieldPart(boundary, field).length, 0);
  const fileBytes = files.reduce((sum, file) => sum + fileHead(boundary, file).length + (file.size ?? 0) + LINE_END.length, 0);
  return fieldBytes + fileBytes + lastLine(boundary).length;
}

const LINE_END = Buffer.from("\r\n");

function fieldPart(boundary: string, [name, value]: FormField): Buffer {
  return Buffer.from(`${head(boundary, name)}\r\n\r\n${value}\r\n`);
}

function fileHead(boundary: string, file: FormFile): Buffer {
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(file.contentType) ? file.contentType : "application/octet-stream";
  return Buffer.from(`${head(boundary, file.field)}; filename="${escaped(file.name)}"\r\ncontent-type: ${type}\r\n\r\n`);
}

function lastLine(boundary: string): Buffer {
  return Buffer.from(`--${boundary}--\r\n`);
}

function head(boundary: string, name: string): string {
  return `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"`;
}

/** As in browsers (WHATWG): a quote or a line break must not end the header. */
function escaped(text: string): string {
  return text.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}
