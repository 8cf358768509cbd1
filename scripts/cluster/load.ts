import { setTimeout as sleep } from "node:timers/promises";
import { type ClientCall, streamCall } from "../../test/faults/storm/stream-client.ts";
import { Balancer } from "./balancer.ts";

/** A call, where it went and when. */
export interface LoadCall {
  readonly client: ClientCall;
  readonly edge: number;
  readonly startedMs: number;
  readonly endedMs: number;
}

export interface LoadOptions {
  readonly urls: readonly string[];
  readonly key: string;
  readonly lanes: number;
}

export const isOk = ({ client }: LoadCall): boolean => client.status === 200 && client.done && client.error === undefined;
/** Without a head, no edge accepted it. */
export const isAccepted = ({ client }: LoadCall): boolean => client.status !== undefined;

/** Streams in several lanes through a balancer until it is ended; every call is written down. */
export class Load {
  readonly calls: LoadCall[] = [];
  readonly #options: LoadOptions;
  readonly #balancer: Balancer;
  readonly #lanes: Promise<unknown>;
  #isOver = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#balancer = new Balancer(options.urls);
    this.#lanes = Promise.all(Array.from({ length: options.lanes }, (_, lane) => this.#run(lane)));
  }

  get balancer(): Balancer {
    return this.#balancer;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#lanes;
    await this.#balancer.close();
  }

  async #run(lane: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const edge = this.#balancer.pick();
      const startedMs = performance.now();
      const asked = { name: `c${lane}-${count}`, words: 20, betweenMs: 10, maxTokens: 40 };
      const client = await streamCall({ url: this.#balancer.urlOf(edge), key: this.#options.key, ...asked });
      const call = { client, edge, startedMs, endedMs: performance.now() };
      this.calls.push(call);
      if (!isAccepted(call)) this.#balancer.refused(edge);
      if (!isOk(call)) await sleep(50);
    }
  }
}
