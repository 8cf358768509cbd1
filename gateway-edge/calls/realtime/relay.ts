import type { RawData, WebSocket } from "ws";

/** How many bytes may wait for one side before the other side is no longer read. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** Handles the messages of one socket one after the other. While one waits, the socket is not read. */
export class Inbound {
  readonly #socket: WebSocket;
  readonly #handle: (text: string) => Promise<void> | undefined;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #queue: string[] = [];
  #isRunning = false;

  constructor(
    socket: WebSocket,
    { handle, onFailure }: { handle: (text: string) => Promise<void> | undefined; onFailure: (thrown: unknown) => void },
  ) {
    this.#socket = socket;
    this.#handle = handle;
    this.#onFailure = onFailure;
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (isBinary) {
      this.#socket.close(1003, "Events are text.");
      return;
    }
    this.#queue.push(textOf(data));
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const waits = this.#handle(next);
        if (!waits) continue;
        this.#socket.pause();
        await waits;
      }
    } catch (thrown) {
      this.#onFailure(thrown);
    }
    this.#isRunning = false;
    this.#socket.resume();
  }
}

/** Sends a message on. Where too much waits already, resolves when it has left. */
export function sendOn(socket: WebSocket, text: string): Promise<void> | undefined {
  if (socket.readyState !== socket.OPEN) return undefined;
  if (socket.bufferedAmount + text.length < WAITING_BYTES_MAX) {
    socket.send(text);
    return undefined;
  }
  // A socket that fails ends the session by its own event.
  return new Promise((resolve) => socket.send(text, () => resolve()));
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return data instanceof ArrayBuffer ? Buffer.from(data).toString("utf8") : data.toString("utf8");
}
