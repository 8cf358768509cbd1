/** The inspector of a Node process on this machine, for its heap after a full garbage collection. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: { usedSize?: number }) => void>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: { usedSize?: number } };
      if (id === undefined) return;
      this.#waiting.get(id)?.(result ?? {});
      this.#waiting.delete(id);
    });
  }

  /** The process must have been started with `--inspect=127.0.0.1:<port>`. */
  static async open(port: number): Promise<Inspector> {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [page] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(page?.webSocketDebuggerUrl ?? "");
    await new Promise((opened, failed) => {
      socket.addEventListener("open", opened, { once: true });
      socket.addEventListener("error", failed, { once: true });
    });
    return new Inspector(socket);
  }

  async heapMbAfterGc(): Promise<number> {
    await this.#call("HeapProfiler.collectGarbage");
    const { usedSize = Number.NaN } = await this.#call("Runtime.getHeapUsage");
    return usedSize / 1e6;
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string): Promise<{ usedSize?: number }> {
    const id = ++this.#calls;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
