import type { Clock } from "../../../common/clock.ts";

/** Limits of scans over usage logs. */
export interface LogScanLimits {
  /** Records that any request may scan without a slot for long scans. */
  readonly freeRecords: number;
  /** Records and time that one request may scan before it answers with what it has. */
  readonly recordsMax: number;
  readonly timeMsMax: number;
  /** How long a request waits for a slot. */
  readonly waitMsMax: number;
  /** Long scans at once in this process; at most one per organization. */
  readonly atOnce: number;
}

/** Waiting once and scanning twice, for rows and for totals, fits the deadline of the edge's request, 5 s. */
const LIMITS: LogScanLimits = { freeRecords: 5_000, recordsMax: 200_000, timeMsMax: 1_000, waitMsMax: 1_500, atOnce: 2 };

/** A request that scans logs. */
export interface ScanRequest {
  readonly organizationId: string;
  /** Aborted when the caller is gone or its deadline has passed. */
  readonly signal: AbortSignal;
  /** Must scan everything: it waits for a slot without limit, and only its signal ends it. */
  readonly isUnlimited?: boolean;
}

interface Waiting {
  readonly organizationId: string;
  admit(): void;
}

/**
 * Long scans of logs and roll-ups share one event loop with the settlement of calls. Few run at once, one per organization, and each
 * scans a bounded number of records. Short scans, such as the newest page, do not wait.
 */
export class LogScans {
  readonly limits: LogScanLimits;
  readonly clock: Clock;
  readonly #running = new Set<string>();
  #waiting: Waiting[] = [];

  constructor({ clock, limits = {} }: { clock: Clock; limits?: Partial<LogScanLimits> }) {
    this.clock = clock;
    this.limits = { ...LIMITS, ...limits };
  }

  /** Runs the work with a budget, and frees the slot that it may have taken. */
  async run<T>(request: ScanRequest, work: (budget: ScanBudget) => Promise<T>): Promise<T> {
    const budget = new ScanBudget(this, request);
    try {
      return await work(budget);
    } finally {
      if (budget.hasSlot) this.#leave(request.organizationId);
    }
  }

  /** Resolves to true once the scan has a slot, to false if it waited too long. */
  enter({ organizationId, signal, isUnlimited }: ScanRequest): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.#isFree(organizationId)) {
      this.#running.add(organizationId);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        signal.removeEventListener("abort", give);
        cancel();
      };
      const give = () => {
        leave();
        resolve(false);
      };
      const waiting: Waiting = {
        organizationId,
        admit: () => {
          leave();
          resolve(true);
        },
      };
      const cancel = isUnlimited ? () => undefined : this.clock.after(this.limits.waitMsMax, give);
      signal.addEventListener("abort", give, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #isFree(organizationId: string): boolean {
    return this.#running.size < this.limits.atOnce && !this.#running.has(organizationId);
  }

  #leave(organizationId: string): void {
    this.#running.delete(organizationId);
    const next = this.#waiting.find((waiting) => this.#isFree(waiting.organizationId));
    if (!next) return;
    this.#running.add(next.organizationId);
    next.admit();
  }
}

const RECORDS_PER_CLOCK_READ = 100;

/** What one request may still scan. */
export class ScanBudget {
  readonly #scans: LogScans;
  readonly #request: ScanRequest;
  #records = 0;
  #sinceMs: number;
  #hasSlot = false;
  #isRefused = false;
  #isSpent = false;
  #isLong = false;

  constructor(scans: LogScans, request: ScanRequest) {
    this.#scans = scans;
    this.#request = request;
    this.#sinceMs = scans.clock.monotonicMs();
  }

  get hasSlot(): boolean {
    return this.#hasSlot;
  }

  /** It read more than any request may read freely. */
  get isLong(): boolean {
    return this.#isLong;
  }

  /** No further record may be scanned. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Counts a record before it is used. If the scan turns out to be long, the caller must await the returned promise. */
  count(): Promise<void> | undefined {
    this.#records++;
    if (this.#records % RECORDS_PER_CLOCK_READ === 0 || this.#records >= this.#scans.limits.recordsMax) this.#look();
    return this.#records === this.#scans.limits.freeRecords ? this.#enter() : undefined;
  }

  /** Starts a second scan of the same request. A slot is retained; a refused one is not waited for again. */
  renew(): void {
    this.#records = 0;
    this.#isSpent = false;
    this.#sinceMs = this.#scans.clock.monotonicMs();
  }

  #look(): void {
    this.#request.signal.throwIfAborted();
    const { limits, clock } = this.#scans;
    if (this.#request.isUnlimited) return;
    if (this.#records >= limits.recordsMax || clock.monotonicMs() - this.#sinceMs >= limits.timeMsMax) this.#isSpent = true;
  }

  async #enter(): Promise<void> {
    this.#isLong = true;
    if (this.#hasSlot) return;
    if (!this.#isRefused) this.#hasSlot = await this.#scans.enter(this.#request);
    this.#request.signal.throwIfAborted();
    this.#isRefused = !this.#hasSlot;
    this.#isSpent = this.#isRefused;
    this.#sinceMs = this.#scans.clock.monotonicMs();
  }
}
