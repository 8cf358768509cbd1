import type { Document, Filter } from "mongodb";
import { type CollectionName, type IndexName, type IndexValue, indexesOf } from "../collections.ts";
import type { Bounds, Range } from "../store.ts";
import { fieldName, type StoredDocument, scalar } from "./documents.ts";
import { indexFields } from "./indexes.ts";

/** A range as a MongoDB query. */
export interface RangeQuery {
  readonly filter: Filter<StoredDocument>;
  readonly sort: Record<string, 1 | -1>;
  /** The index to use, so that the query planner never chooses. */
  readonly hint: string;
}

/** Translates a range of the store port to a MongoDB query. */
export function rangeQuery<Name extends CollectionName>(collection: Name, range: Range<Name>): RangeQuery {
  const { definition, hint } = indexOf(collection, range.index);
  const direction = range.reverse ? -1 : 1;
  const sort = Object.fromEntries(indexFields(definition).map((field) => [field, direction] as const));
  const conditions = [...windowConditions(definition.fields.map(fieldName), range), ...presence(definition, range)];
  return { filter: conditions.length > 0 ? { $and: conditions } : {}, sort, hint };
}

/** Records of several values of an index's first field, and the field of a document that has the value. */
export function amongQuery<Name extends CollectionName>(
  collection: Name,
  index: IndexName<Name>,
  values: readonly IndexValue[],
): Pick<RangeQuery, "filter" | "sort"> & { readonly field: string } {
  const { definition } = indexOf(collection, index);
  const [field = "_id"] = definition.fields.map(fieldName);
  const sort = Object.fromEntries(indexFields(definition).map((name) => [name, 1] as const));
  const among = { [field]: { $in: [...new Set(values.map(scalar))] } };
  return { field, filter: { $and: [among, ...presence(definition, { equals: values.slice(0, 1) })] }, sort };
}

function indexOf(collection: CollectionName, index: string | undefined) {
  if (index === undefined) return { definition: { fields: [] as readonly string[] }, hint: "_id_" };
  const definition = indexesOf(collection)[index];
  if (!definition) throw new Error(`${collection} has no index ${index}`);
  return { definition, hint: index };
}

function windowConditions(fields: readonly string[], range: Bounds): Document[] {
  const prefix = range.equals ?? [];
  const order = [...fields, "_id"];
  const next = order[prefix.length];
  const conditions: Document[] = prefix.map((value, position) => ({ [order[position] as string]: scalar(value) }));
  if (next === undefined) return conditions;
  if (range.from !== undefined) conditions.push({ [next]: { $gte: scalar(range.from) } });
  if (range.before !== undefined) conditions.push({ [next]: { $lt: scalar(range.before) } });
  return [...conditions, ...afterConditions(order, range)];
}

/**
 * Compares tuples field by field: (a, b) comes after (x, y) if a > x, or a = x and b > y. The separate bound on the first open field is
 * redundant, but lets the index start there.
 */
function afterConditions(order: readonly string[], { equals: prefix = [], after, reverse }: Bounds): Document[] {
  if (!after) return [];
  if (after.length !== order.length || prefix.some((value, position) => value !== after[position])) {
    throw new Error("`after` is not a position of this range");
  }
  const beyond = reverse ? "$lt" : "$gt";
  // An index may contain the id among its fields (ledger by organization); a position then has it twice.
  const open = [...new Map(order.map((field, position) => [field, after[position] as IndexValue] as const).slice(prefix.length))];
  const branches = open.map(([field, value], position) => ({
    ...Object.fromEntries(open.slice(0, position).map(([earlier, same]) => [earlier, scalar(same)])),
    [field]: { [beyond]: scalar(value) },
  }));
  const [first] = open;
  if (!first || branches.length < 2) return branches;
  return [{ [first[0]]: { [`${beyond}e`]: scalar(first[1]) } }, { $or: branches }];
}

/** A record that lacks a field of the index is not in the index. Fields without a value or bound get an explicit condition. */
function presence(definition: { fields: readonly string[]; unique?: boolean }, range: Bounds): Document[] {
  const bounded = (range.equals?.length ?? 0) + (range.from === undefined && range.before === undefined ? 0 : 1);
  // `$ne: null` is answered from the keys alone; a partial index is used only for the exact condition it was created with.
  const there = definition.unique ? { $exists: true } : { $ne: null };
  return definition.fields
    .slice(bounded)
    .filter((field) => field !== "id")
    .map((field) => ({ [field]: there }));
}
