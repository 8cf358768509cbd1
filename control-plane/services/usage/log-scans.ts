import type { Clock } from "../../../common/clock.ts";

export interface LogScanLimits {
  /** Records that any request may look at without a place among the long scans. */
  readonly freeRecords: number;
  /** Records that one request looks at, and how long it does so, before it answers with what it has. */
  readonly recordsMax: number;
  readonly timeMsMax: number;
  /** How long a request waits for a place. */
  readonly waitMsMax: number;
  /** Long scans at once in this process; of one organization there is one. */
  readonly atOnce: number;
}

/** Waiting once and scanning twice, for rows and for totals, stays within the deadline of the edge's request, 5 s. */
const LIMITS: LogScanLimits = { freeRecords: 5_000, recordsMax: 200_000, timeMsMax: 1_000, waitMsMax: 1_500, atOnce: 2 };

export interface ScanRequest {
  readonly organizationId: string;
  /** Aborted when the caller left or its deadline passed. */
  readonly signal: AbortSignal;
  /** Has to look at everything: it waits for its place, and only its signal ends it. */
  readonly isUnlimited?: boolean;
}

interface Waiting {
  readonly organizationId: string;
  admit(): void;
}

/**
 * Long readings of logs and roll-ups share one event loop with the settlement of paid calls. Few of them run at once, one for each
 * organization, and each looks at a bounded number of records; short ones, such as the newest page, wait for none of them.
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

  /** Hands the work its budget, and takes back the place that it may have had. */
  async run<T>(request: ScanRequest, work: (budget: ScanBudget) => Promise<T>): Promise<T> {
    const budget = new ScanBudget(this, request);
    try {
      return await work(budget);
    } finally {
      if (budget.hasPlace) this.#leave(request.organizationId);
    }
  }

  /** Resolves true once the scan has a place, false when it has waited for too long. */
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

/** How often the clock is looked at. */
const RECORDS_A_LOOK = 100;

/** What one request may look at. */
export class ScanBudget {
  readonly #scans: LogScans;
  readonly #request: ScanRequest;
  #records = 0;
  #sinceMs: number;
  #hasPlace = false;
  #isRefused = false;
  #isSpent = false;

  constructor(scans: LogScans, request: ScanRequest) {
    this.#scans = scans;
    this.#request = request;
    this.#sinceMs = scans.clock.monotonicMs();
  }

  get hasPlace(): boolean {
    return this.#hasPlace;
  }

  /** Nothing more is to be looked at. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Counts a record before it is looked at. Where the scan turns out to be a long one, wait for what is returned. */
  count(): Promise<void> | undefined {
    this.#records++;
    if (this.#records % RECORDS_A_LOOK === 0 || this.#records >= this.#scans.limits.recordsMax) this.#look();
    return this.#records === this.#scans.limits.freeRecords ? this.#enter() : undefined;
  }

  /** For a second reading of the same request. The place stays; one that was not to be had is not waited for again. */
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
    if (this.#hasPlace) return;
    if (!this.#isRefused) this.#hasPlace = await this.#scans.enter(this.#request);
    this.#request.signal.throwIfAborted();
    this.#isRefused = !this.#hasPlace;
    this.#isSpent = this.#isRefused;
    this.#sinceMs = this.#scans.clock.monotonicMs();
  }
}
