import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Response } from "express";

type Part = string | Uint8Array;

/** A response that is text or bytes and not JSON, produced while it is sent; with a file name it is a download. */
export class ContentStream {
  readonly contentType: string;
  readonly fileName: string | undefined;
  readonly parts: AsyncIterable<Part>;

  constructor(options: { contentType: string; fileName?: string; parts: AsyncIterable<Part> }) {
    this.contentType = options.contentType;
    this.fileName = options.fileName;
    this.parts = options.parts;
  }
}

/** Headers are sent with the first part, so that an earlier error still has a status. */
export async function sendContentStream(response: Response, stream: ContentStream): Promise<void> {
  const parts = stream.parts[Symbol.asyncIterator]();
  const first = await parts.next();
  response.setHeader("content-type", stream.contentType);
  if (stream.fileName !== undefined) response.setHeader("content-disposition", `attachment; filename="${stream.fileName}"`);
  await pipeline(Readable.from(resume(first, parts)), response);
}

async function* resume(first: IteratorResult<Part>, rest: AsyncIterator<Part>): AsyncGenerator<Part> {
  for (let part = first; !part.done; part = await rest.next()) yield part.value;
}
