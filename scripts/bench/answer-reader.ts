const HEAD_END = "\r\n\r\n";
/** Text of a chat's event that is not empty. */
const TEXT = /"content":"[^"]/;
const LAST_CHUNK = "0\r\n\r\n";

/** Reads one HTTP answer to its end, with as little work as possible: a length or the last chunk ends it. */
export class AnswerReader {
  status = 0;
  /** Of a refusal. */
  retryAfterMs: number | undefined;
  /** Whether an event of a stream has come, and whether one with text has. */
  hasEvent = false;
  hasText = false;
  #head = "";
  #isHeadRead = false;
  #left = 0;
  #isChunked = false;
  #tail = "";

  /** Returns whether the answer is complete. */
  add(chunk: Buffer): boolean {
    if (this.#isHeadRead) return this.#addBody(chunk);
    this.#head += chunk.toString("latin1");
    const end = this.#head.indexOf(HEAD_END);
    if (end < 0) return false;
    this.#isHeadRead = true;
    this.status = Number(this.#head.slice(9, 12));
    const retryAfter = /retry-after: (\d+)/i.exec(this.#head.slice(0, end));
    if (retryAfter) this.retryAfterMs = Number(retryAfter[1]) * 1000;
    const length = /content-length: (\d+)/i.exec(this.#head.slice(0, end));
    this.#isChunked = length === null;
    this.#left = Number(length?.[1] ?? 0);
    return this.#addBody(Buffer.from(this.#head.slice(end + HEAD_END.length), "latin1"));
  }

  #addBody(chunk: Buffer): boolean {
    if (!this.#isChunked) {
      this.#left -= chunk.length;
      return this.#left <= 0;
    }
    if (chunk.length === 0) return false;
    this.hasEvent ||= chunk.includes("data:");
    this.hasText ||= TEXT.test(chunk.toString("latin1"));
    this.#tail = (this.#tail + chunk.toString("latin1", Math.max(0, chunk.length - LAST_CHUNK.length))).slice(-LAST_CHUNK.length);
    return this.#tail === LAST_CHUNK;
  }
}
