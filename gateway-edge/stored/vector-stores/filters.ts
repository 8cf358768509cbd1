import type { Attributes, Filter } from "../../schemas/stored/vector-stores.ts";

type Comparison = Exclude<Filter, { readonly filters: readonly Filter[] }>;

/** Whether the attributes of a file pass a filter. A missing attribute passes only `ne` and `nin`. */
export function passes(attributes: Attributes, filter: Filter): boolean {
  if ("filters" in filter) {
    const one = (inner: Filter) => passes(attributes, inner);
    return filter.type === "and" ? filter.filters.every(one) : filter.filters.some(one);
  }
  return COMPARE[filter.type](attributes[filter.key], filter.value);
}

const isIn = (value: unknown, given: Comparison["value"]) =>
  Array.isArray(given) ? given.some((each) => each === value) : given === value;

const ordered = (test: (order: number) => boolean) => (value: unknown, given: Comparison["value"]) => {
  if (typeof value === "number" && typeof given === "number") return test(value - given);
  return typeof value === "string" && typeof given === "string" && test(value < given ? -1 : value > given ? 1 : 0);
};

const COMPARE: Readonly<Record<Comparison["type"], (value: unknown, given: Comparison["value"]) => boolean>> = {
  eq: (value, given) => value === given,
  ne: (value, given) => value !== given,
  in: isIn,
  nin: (value, given) => !isIn(value, given),
  gt: ordered((order) => order > 0),
  gte: ordered((order) => order >= 0),
  lt: ordered((order) => order < 0),
  lte: ordered((order) => order <= 0),
};
