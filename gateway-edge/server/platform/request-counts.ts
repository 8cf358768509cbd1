import { Buckets } from "../../../common/metrics/buckets.ts";

/** Answered requests of one route, method and status. */
export interface RequestSlot {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  count: number;
}

/** Series of requests; further ones count for the route `other`. */
const SLOTS_MAX = 200;
const OTHER = "other";
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/** Routes whose time is of interest by itself, and what is left of the others: a histogram for every route would be thousands of series. */
const FAMILIES: readonly (readonly [family: string, pattern: RegExp])[] = [
  ["chat", /\/chat\/completions$/],
  ["completions", /\/completions$/],
  ["messages", /\/messages$/],
  ["responses", /^(\/v1)?\/responses$/],
  ["embeddings", /\/embeddings$/],
  ["models", /^\/v1\//],
  ["platform", /^\/api\//],
  ["training", /^\/training\//],
];

interface RouteSlots {
  readonly seconds: Buckets;
  /** By method, then by status. */
  readonly byMethod: Map<string, Map<number, RequestSlot>>;
}

/** Counts answered requests in slots that are found by look-ups alone; a request builds no text. */
export class RequestCounts {
  readonly slots: RequestSlot[] = [];
  readonly seconds: ReadonlyMap<string, Buckets> = new Map(
    [...FAMILIES.map(([family]) => family), OTHER].map((family) => [family, new Buckets(DURATION_BUCKETS_SECONDS)]),
  );
  readonly #routes = new Map<string, RouteSlots>();

  count({ route, method = "" }: { route: string; method: string | undefined }, status: number, seconds: number): void {
    const { byMethod, seconds: buckets } = this.#routes.get(route) ?? this.#newRoute(route);
    buckets.observe(seconds);
    const slot = byMethod.get(method)?.get(status) ?? this.#newSlot(byMethod, { route, method, status });
    slot.count++;
  }

  #newRoute(route: string): RouteSlots {
    const family = FAMILIES.find(([, pattern]) => pattern.test(route))?.[0] ?? OTHER;
    const slots = { seconds: this.seconds.get(family) as Buckets, byMethod: new Map<string, Map<number, RequestSlot>>() };
    this.#routes.set(route, slots);
    return slots;
  }

  #newSlot(byMethod: RouteSlots["byMethod"], { route, method, status }: Omit<RequestSlot, "count">): RequestSlot {
    const known = METHODS.has(method) ? method : OTHER;
    const isFull = this.slots.length >= SLOTS_MAX;
    const place = isFull ? { route: OTHER, method: OTHER, status: Math.floor(status / 100) * 100 } : { route, method: known, status };
    const slot = this.slots.find((each) => each.route === place.route && each.method === place.method && each.status === place.status);
    const found = slot ?? { ...place, count: 0 };
    if (!slot) this.slots.push(found);
    // Methods are as many as clients invent: only known ones are remembered.
    if (known === method) byMethod.set(method, (byMethod.get(method) ?? new Map<number, RequestSlot>()).set(status, found));
    return found;
  }
}
