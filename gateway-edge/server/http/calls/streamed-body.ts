import type { StreamedResponse } from "../../../calls/http-exchange.ts";

/** The chunk of no bytes, which ends a body that is sent in chunks. */
const LAST_CHUNK = "0\r\n\r\n";

/**
 * The body of a response whose length is not known when it begins. Where Node sends it in chunks (to every client but those of HTTP/1.0), they are framed here: Node
 * writes a chunk as four pieces, which costs a stream an eighth of its CPU (decision 53).
 */
export class StreamedBody {
  readonly #response: StreamedResponse;
  #isInChunks = false;

  constructor(response: StreamedResponse) {
    this.#response = response;
  }

  /** Takes over from Node, which has decided by the head. */
  begin(): void {
    this.#isInChunks = this.#response.chunkedEncoding;
    this.#response.chunkedEncoding = false;
  }

  write(part: string | Uint8Array): void {
    // The chunk of no bytes would end the body.
    if (part.length === 0) return;
    if (!this.#isInChunks) this.#response.write(part);
    else if (typeof part === "string") this.#response.write(chunk(part));
    else {
      this.#response.write(`${part.byteLength.toString(16)}\r\n`);
      this.#response.write(part);
      this.#response.write("\r\n");
    }
  }

  end(part: string | Uint8Array): void {
    if (!this.#isInChunks) this.#response.end(part);
    else if (typeof part === "string") this.#response.end(part === "" ? LAST_CHUNK : chunk(part) + LAST_CHUNK);
    else {
      this.write(part);
      this.#response.end(LAST_CHUNK);
    }
  }
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
