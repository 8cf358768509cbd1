import type { BytesPart, StreamPart } from "../../upstream/providers/provider.ts";
import type { OutputLimit } from "./output-limit.ts";
import type { ShortCredit } from "./short-credit.ts";

/** What can end a stream before its upstream does: the output limit, and less credit than the worst case. */
export class StreamBounds {
  readonly #limit: OutputLimit | undefined;
  readonly #short: ShortCredit | undefined;
  #reached: OutputLimit | ShortCredit | undefined;

  constructor({ limit, short }: { limit: OutputLimit | undefined; short: ShortCredit | undefined }) {
    this.#limit = limit;
    this.#short = short;
  }

  /** Whether a part may be delivered; if not, the stream ends with `endings`. */
  covers(part: StreamPart | BytesPart): true | false | Promise<boolean> {
    if (this.#limit && !this.#limit.covers(part)) {
      this.#reached = this.#limit;
      return false;
    }
    if (!this.#short || part.type === "usage") return true;
    this.#reached = this.#short;
    return this.#short.covers(part);
  }

  get isOutOfCredit(): boolean {
    return this.#reached !== undefined && this.#reached === this.#short;
  }

  endings(): ReturnType<OutputLimit["endings"]> {
    return this.#reached?.endings() ?? [];
  }
}
