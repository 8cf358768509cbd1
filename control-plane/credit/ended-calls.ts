import type { Clock } from "../../common/clock.ts";
import { AppError, type AppErrorOptions, type ErrorCode } from "../../common/errors.ts";
import { gather } from "../../common/gather.ts";
import type { Edges } from "../feed/edges.ts";

/** What may hold what a refused call lacks: calls that are over by now, or credit that edges have in advance. */
export type Holder = "calls" | "leases";

/** What refuses a call, and what it may be that takes its room. */
export interface Refusal {
  readonly holder: Holder;
  /** The name of the limit or budget; absent: the credit of the organization. */
  readonly limit?: string | undefined;
}

/** A refusal that may be wrong: edges report ended calls, and credit that they do not need, a little after the fact. */
export class HeldError extends AppError implements Refusal {
  readonly holder: Holder;
  readonly limit: string | undefined;

  constructor(code: ErrorCode, message: string, { holder, limit, ...options }: AppErrorOptions & Refusal) {
    super(code, message, options);
    this.holder = holder;
    this.limit = limit;
  }
}

/** After edges were asked in vain, calls are refused by the same limit without asking again for so long. */
const IN_VAIN_MS = 100;

interface Asking {
  waiting: number;
  readonly ask: (request: undefined) => Promise<undefined>;
}

export interface EndedCallsOptions {
  readonly edges: Pick<Edges, "caughtUp" | "recall">;
  readonly clock: Pick<Clock, "after">;
}

/**
 * Asks edges what has ended before a call is refused. Refusals of one organization share the questions. One limit asks no more while it is in vain:
 * a client that keeps calling above its limit must not have the calls of others refused unasked.
 */
export class EndedCalls {
  readonly #options: EndedCallsOptions;
  readonly #asking = new Map<string, Asking>();
  readonly #inVain = new Set<string>();

  constructor(options: EndedCallsOptions) {
    this.#options = options;
  }

  /** Resolves when all edges have reported what ended before this request; false: they were asked in vain just now. */
  async learn(organizationId: string, refusal: Refusal): Promise<boolean> {
    if (this.#inVain.has(limitOf(organizationId, refusal))) return false;
    const { holder } = refusal;
    await this.#ask(nameOf(organizationId, refusal), () => this.#options.edges[holder === "calls" ? "caughtUp" : "recall"](organizationId));
    return true;
  }

  /** What edges reported was not enough. */
  inVain(organizationId: string, refusal: Refusal): void {
    const name = limitOf(organizationId, refusal);
    if (this.#inVain.has(name)) return;
    this.#inVain.add(name);
    this.#options.clock.after(IN_VAIN_MS, () => this.#inVain.delete(name));
  }

  /** Attempts again what was refused because of what may be over. */
  async retried<Answer>(organizationId: string, attempt: () => Promise<Answer>): Promise<Answer> {
    try {
      return await attempt();
    } catch (refused) {
      if (!(refused instanceof HeldError && (await this.learn(organizationId, refused)))) throw refused;
    }
    try {
      return await attempt();
    } catch (refused) {
      if (refused instanceof HeldError) this.inVain(organizationId, refused);
      throw refused;
    }
  }

  /** A question that is under way does not count: the call may have ended after its answer. */
  async #ask(name: string, ask: () => Promise<void>): Promise<void> {
    const asking = this.#asking.get(name) ?? {
      waiting: 0,
      ask: gather(async (requests: undefined[]) => {
        await ask();
        return requests.map(() => ({ answer: undefined }));
      }),
    };
    this.#asking.set(name, asking);
    asking.waiting++;
    try {
      await asking.ask(undefined);
    } finally {
      asking.waiting--;
      if (asking.waiting === 0) this.#asking.delete(name);
    }
  }
}

const nameOf = (organizationId: string, { holder }: Refusal) => `${holder} ${organizationId}`;
const limitOf = (organizationId: string, refusal: Refusal) => `${nameOf(organizationId, refusal)} ${refusal.limit ?? ""}`;
