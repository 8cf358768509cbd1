import type { Clock } from "../../common/clock.ts";
import { asAppError } from "../../common/errors.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import { gatherCalls } from "../../common/grpc/gather.ts";
import { ignore } from "../../common/ignore.ts";
import { limitName, slotOf } from "../../common/slots.ts";
import { hasLimit } from "../domain/rate-limits.ts";
import type { CallToCount, CountOutcome, ReturnedCall } from "./counted-calls.ts";
import type { RatePermit, RateSubject } from "./rate-limiter.ts";
import type { Reading } from "./rate-readings.ts";

/** The control planes that count limits which several organizations share, by the slot of the limit's name. */
export interface LimitOwners {
  readonly slots: number;
  isOwned(slot: number): boolean;
  count(slot: number, calls: readonly CallToCount[]): Promise<readonly CountOutcome[]>;
  giveBack(slot: number, calls: readonly ReturnedCall[]): Promise<void>;
}

/** The subjects of a call: those that are counted here, and the others by slot. */
export interface DividedSubjects {
  readonly here: readonly RateSubject[];
  readonly elsewhere: ReadonlyMap<number, readonly RateSubject[]> | undefined;
}

/** A call as other control planes counted it. */
export interface CountedElsewhere {
  readonly readings: readonly Reading[];
  /** The least of their permits; undefined: one of them gave none. */
  readonly permit: RatePermit | undefined;
  /** The call was not made: it counts no more, and its permits neither. */
  withdraw(): void;
  end(): void;
  /** How much of the permit is given out; the rest goes back when the permit does. */
  grant(permit: RatePermit | undefined): void;
}

type Batched<Request, Answer> = (request: Request, options: CallOptions) => Promise<Answer>;

interface Grant {
  readonly slots: ReadonlyMap<number, RatePermit>;
  readonly given: RatePermit;
  readonly untilMs: number;
}

/** Longer than an owner is looked for. */
const WITHIN = { deadlineMs: 10_000 };
/** After this a permit counts in no window. */
const GRANT_MS = 60_000;
const LATE = "what is not given back counts for a minute";

/**
 * Limits of models and users are shared by organizations of different control planes. They are counted by the owner of the slot of their
 * name, which gives permits for edges as well.
 */
export class SharedLimits {
  readonly #owners: LimitOwners;
  readonly #clock: Clock;
  readonly #lanes = new Map<number, { count: Batched<CallToCount, CountOutcome>; giveBack: Batched<ReturnedCall, undefined> }>();
  /** Permits in use, by the call that each was granted with. */
  readonly #grants = new Map<string, Grant>();

  constructor(owners: LimitOwners, clock: Clock) {
    this.#owners = owners;
    this.#clock = clock;
  }

  divide(subjects: readonly RateSubject[]): DividedSubjects {
    const others = subjects.filter((subject) => this.#isElsewhere(subject));
    if (others.length === 0) return { here: subjects, elsewhere: undefined };
    const elsewhere = Map.groupBy(others, (subject) => this.#slotOf(subject));
    return { here: subjects.filter((subject) => !others.includes(subject)), elsewhere };
  }

  /** Counts a call at every owner; if one of them cannot be asked, at none. */
  async count(call: Omit<CallToCount, "subjects">, elsewhere: ReadonlyMap<number, readonly RateSubject[]>): Promise<CountedElsewhere> {
    const asked = [...elsewhere].map(
      async ([slot, subjects]) => [slot, await this.#laneOf(slot).count({ ...call, subjects }, WITHIN)] as const,
    );
    const settled = await Promise.allSettled(asked);
    const outcomes = new Map(settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
    const counted = this.#counted(call.callId, elsewhere, outcomes);
    const failed = settled.find((each) => each.status === "rejected");
    if (failed === undefined) return counted;
    counted.withdraw();
    throw asAppError(failed.reason);
  }

  /** Returns the unused part of a permit. */
  takeBack(callId: string, unused: { requests: number; tokens: number }): void {
    const grant = this.#grants.get(callId);
    if (!grant) return;
    this.#grants.delete(callId);
    for (const [slot, permit] of grant.slots) {
      const requests = unused.requests + permit.requests - grant.given.requests;
      const tokens = unused.tokens + (permit.tokens ?? 0) - (grant.given.tokens ?? 0);
      this.#giveBack(slot, { callId, what: "unused", requests, tokens: Math.max(0, tokens) });
    }
  }

  /** Forgets permits that no longer count. */
  prune(): void {
    const now = this.#clock.monotonicMs();
    for (const [callId, { untilMs }] of this.#grants) if (untilMs <= now) this.#grants.delete(callId);
  }

  #counted(
    callId: string,
    elsewhere: ReadonlyMap<number, readonly RateSubject[]>,
    outcomes: ReadonlyMap<number, CountOutcome>,
  ): CountedElsewhere {
    const permits = new Map([...outcomes].flatMap(([slot, { permit }]) => (permit ? [[slot, permit] as const] : [])));
    const counts = [...outcomes].filter(([, { readings }]) => readings.every(({ waitSeconds }) => waitSeconds === 0)).map(([slot]) => slot);
    const returnPermits = () => {
      for (const [slot, { requests, tokens }] of permits) this.#giveBack(slot, { callId, what: "unused", requests, tokens: tokens ?? 0 });
    };
    return {
      readings: [...outcomes.values()].flatMap(({ readings }) => readings),
      permit: permits.size === elsewhere.size ? leastOf([...permits.values()]) : undefined,
      withdraw: () => {
        for (const slot of counts) this.#giveBack(slot, { callId, what: "withdrawn" });
        returnPermits();
      },
      end: () => {
        for (const slot of counts) if (elsewhere.get(slot)?.some(isParallel)) this.#giveBack(slot, { callId, what: "ended" });
      },
      grant: (given) => {
        if (!given) returnPermits();
        else if (permits.size > 0) this.#grants.set(callId, { slots: permits, given, untilMs: this.#clock.monotonicMs() + GRANT_MS });
      },
    };
  }

  #isElsewhere(subject: RateSubject): boolean {
    const { kind, limits } = subject;
    return (kind === "model" || kind === "user") && hasLimit(limits) && !this.#owners.isOwned(this.#slotOf(subject));
  }

  #slotOf(subject: RateSubject): number {
    return slotOf(limitName(subject), this.#owners.slots);
  }

  /** The requests for one slot are batched. */
  #laneOf(slot: number) {
    const known = this.#lanes.get(slot);
    if (known) return known;
    const lane = {
      count: gatherCalls(async (calls: CallToCount[]) => (await this.#owners.count(slot, calls)).map((answer) => ({ answer }))),
      giveBack: gatherCalls(async (calls: ReturnedCall[]) => {
        await this.#owners.giveBack(slot, calls);
        return calls.map(() => ({ answer: undefined }));
      }),
    };
    this.#lanes.set(slot, lane);
    return lane;
  }

  #giveBack(slot: number, returned: ReturnedCall): void {
    void ignore(this.#laneOf(slot).giveBack(returned, WITHIN), LATE);
  }
}

const isParallel = ({ limits }: RateSubject) => limits.maxParallelRequests !== undefined;

function leastOf(permits: readonly RatePermit[]): RatePermit {
  const tokens = permits.flatMap((permit) => (permit.tokens === undefined ? [] : [permit.tokens]));
  return {
    requests: Math.min(...permits.map(({ requests }) => requests)),
    tokens: tokens.length > 0 ? Math.min(...tokens) : undefined,
    lifeMs: Math.min(...permits.map(({ lifeMs }) => lifeMs)),
  };
}
