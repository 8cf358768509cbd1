import type { Fields } from "../../upstream/providers/provider.ts";
import { locallyReferred } from "./local-reference.ts";

/** Schemas that are applied to one and the same value. Those of people have a few dozen. */
const APPLIED_MAX = 10_000;
const CHAIN_MAX = 200;

/** Applied to the value itself. */
const SAME_LISTS = ["allOf", "anyOf", "oneOf"];
const SAME = ["not", "if", "then", "else"];
/** Applied to what is in the value. */
const INNER = ["items", "additionalItems", "additionalProperties", "contains", "propertyNames"];
const INNER_NAMED = ["properties", "patternProperties"];

/**
 * Why no check of a schema can be relied on to end; undefined: none is known. References may double with each step, and a few lines become more
 * work than any machine can do; or they lead back to the same schema for the same value, without an end. A schema that refers to itself for
 * what is in the value, as that of a tree does, is none of these.
 */
export function schemaFault(root: Fields): string | undefined {
  const applying = new Applying(root);
  const seen = new Set<unknown>();
  const open: unknown[] = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    if (seen.has(schema) || !isFields(schema)) continue;
    seen.add(schema);
    const applied = applying.count(schema, 0);
    if (applying.isEndless) return "refers to itself without an end";
    if (applied > APPLIED_MAX) return `applies more than ${APPLIED_MAX} schemas to one value after its references are followed`;
    for (const next of sameOf(root, schema)) open.push(next);
    for (const next of innerOf(schema)) open.push(next);
  }
  return undefined;
}

/** Counts the schemas that one schema applies to its own value. */
class Applying {
  isEndless = false;
  readonly #root: Fields;
  readonly #known = new Map<Fields, number>();
  readonly #open = new Set<Fields>();

  constructor(root: Fields) {
    this.#root = root;
  }

  count(schema: Fields, depth: number): number {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    if (this.#open.has(schema)) this.isEndless = true;
    if (this.isEndless || depth > CHAIN_MAX) return Number.POSITIVE_INFINITY;
    this.#open.add(schema);
    let sum = 1;
    for (const next of sameOf(this.#root, schema)) sum += isFields(next) ? this.count(next, depth + 1) : 1;
    this.#open.delete(schema);
    this.#known.set(schema, sum);
    return sum;
  }
}

function sameOf(root: Fields, schema: Fields): unknown[] {
  const reference = schema["$ref"];
  const dependent = isFields(schema["dependencies"]) ? Object.values(schema["dependencies"]).filter(isFields) : [];
  return [
    ...SAME_LISTS.flatMap((name) => schema[name] ?? []),
    ...SAME.map((name) => schema[name]),
    ...dependent,
    typeof reference === "string" ? locallyReferred(root, reference) : undefined,
  ].filter((next) => next !== undefined);
}

function innerOf(schema: Fields): unknown[] {
  const named = INNER_NAMED.flatMap((name) => (isFields(schema[name]) ? Object.values(schema[name]) : []));
  return [...named, ...INNER.flatMap((name) => schema[name] ?? [])];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
