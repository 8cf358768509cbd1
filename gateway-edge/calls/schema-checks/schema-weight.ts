import type { Fields } from "../../upstream/providers/provider.ts";
import { locallyReferred } from "./local-reference.ts";

/** What a schema can cost, as found without compiling it: upper bounds. */
export interface SchemaWeight {
  /** The JSON values in it, which is what compiling it costs. */
  readonly values: number;
  /** The values of the schema, with references followed, that one value of an answer can meet. Infinity: the schema alone does not bound it. */
  readonly expanded: number;
  /** Compares every item of a list with every other. */
  readonly hasUniqueItems: boolean;
  /** Parts of it have names of their own, so that references need not lead where they seem to. */
  readonly hasOwnIds: boolean;
}

/** Bodies are nested less than this. Chains of references may be longer, and need not be weighed exactly. */
const DEPTH_MAX = 200;

export function weighSchema(root: Fields): SchemaWeight {
  const weighing = new Weighing(root);
  const expanded = weighing.expanded(root, 0);
  const { values, hasUniqueItems, hasOwnIds } = weighing;
  return { values, expanded: hasOwnIds ? Number.POSITIVE_INFINITY : expanded, hasUniqueItems, hasOwnIds };
}

/**
 * The most steps of checking a text. A schema without recursion is applied to each value of the text at most once for each place that it has
 * after its references are followed, so that its places times the characters are a bound. Lists of unique items are compared by pairs.
 */
export function stepsOf({ expanded, hasUniqueItems }: SchemaWeight, characters: number): number {
  return expanded * (characters + 1) * (hasUniqueItems ? characters + 1 : 1);
}

/** Every JSON value in a schema counts, also those that are no schemas: a bound may be too high. */
class Weighing {
  values = 0;
  hasUniqueItems = false;
  hasOwnIds = false;
  readonly #root: Fields;
  readonly #known = new Map<object, number>();

  constructor(root: Fields) {
    this.#root = root;
  }

  expanded(value: unknown, depth: number): number {
    if (typeof value !== "object" || value === null) return 1;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    if (depth > DEPTH_MAX) return Number.POSITIVE_INFINITY;
    // What leads back to a value that is being weighed is recursive.
    this.#known.set(value, Number.POSITIVE_INFINITY);
    let sum = 1;
    for (const [name, inner] of Object.entries(value)) {
      this.values++;
      sum += this.expanded(inner, depth + 1);
      if (name === "$ref" && typeof inner === "string") sum += this.#referred(inner, depth);
      if (name === "$id" && typeof inner === "string" && value !== this.#root) this.hasOwnIds = true;
      if (name === "uniqueItems" && inner === true) this.hasUniqueItems = true;
    }
    this.#known.set(value, sum);
    return sum;
  }

  #referred(reference: string, depth: number): number {
    const target = locallyReferred(this.#root, reference);
    return target === undefined ? Number.POSITIVE_INFINITY : this.expanded(target, depth + 1);
  }
}
