/**
 * Joins the socket writes of one turn of the event loop: all of them run at its end, one after the other. A write wakes the upstream, so
 * calls that start together wake it once instead of once each.
 */
export class WriteCoalescer {
  #waiting: { send(): void }[] = [];

  add(sender: { send(): void }): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#sendAll());
    this.#waiting.push(sender);
  }

  #sendAll(): void {
    const senders = this.#waiting;
    this.#waiting = [];
    for (const sender of senders) sender.send();
  }
}
