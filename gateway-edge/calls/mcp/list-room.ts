import { AppError } from "../../../common/errors.ts";

/** A model is offered a few hundred tools at most, of about a kilobyte each. */
const SERVER_TOOLS_MAX = 1000;
const SERVER_BYTES_MAX = 2 * 1024 * 1024;
const LIST_BYTES_MAX = 8 * 1024 * 1024;

/**
 * What one server may send for a list of tools, in all of its pages. Tenants run the servers, and reading answers takes the event loop's time. The
 * room of a list is divided: a server that sends too much takes nothing from the others.
 */
export class ListRoom {
  readonly #bytesMax: number;
  #bytes = 0;
  #tools = 0;

  constructor(serverCount: number) {
    this.#bytesMax = Math.min(SERVER_BYTES_MAX, Math.floor(LIST_BYTES_MAX / serverCount));
  }

  takeBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#bytesMax) throw tooLong(`${this.#bytesMax} bytes`);
  }

  takeTools(count: number): void {
    this.#tools += count;
    if (this.#tools > SERVER_TOOLS_MAX) throw tooLong(`${SERVER_TOOLS_MAX} tools`);
  }
}

function tooLong(most: string): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", `The list of the server's tools has more than ${most}.`);
}
