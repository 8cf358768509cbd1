/**
 * Sends what one turn of the event loop has to send at its end, one after the other. To write wakes the other side: calls that come
 * together wake it once, and it finds all of them, where each by itself would wake it again.
 */
export class Outbox {
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
