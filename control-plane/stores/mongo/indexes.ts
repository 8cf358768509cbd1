import { type Collection, type Db, type IndexDescriptionInfo, MongoServerError } from "mongodb";
import { COLLECTION_NAMES, type IndexDefinition, indexesOf } from "../collections.ts";
import { SLOTTED } from "../record-slots.ts";
import { fieldName } from "./documents.ts";

const NAMESPACE_EXISTS = 48;

interface WantedIndex {
  name: string;
  key: Record<string, 1>;
  unique?: true;
  partialFilterExpression?: Record<string, { $exists: true }>;
}

/**
 * Creates every collection and index, and verifies existing ones: uniqueness depends on these indexes alone, so a store with different
 * indexes does not open. On a sharded cluster, unique indexes of collections with slots are plain ones (taken-values.ts).
 */
export async function prepareCollections(
  database: Db,
  { others, sharded }: { others: readonly string[]; sharded: boolean },
): Promise<void> {
  const found = await database.listCollections({}, { nameOnly: true }).toArray();
  const existing = new Set(found.map(({ name }) => name));
  const missing = [...COLLECTION_NAMES, ...others].filter((name) => !existing.has(name));
  await Promise.all(missing.map((name) => createCollection(database, name)));
  await Promise.all(
    COLLECTION_NAMES.map(async (name) => {
      const wanted = Object.entries(indexesOf(name)).map(([index, definition]) => wantedIndex(index, definition));
      if (sharded && SLOTTED.includes(name)) for (const index of wanted) delete index.unique;
      await prepareIndexes(database.collection(name), wanted);
    }),
  );
}

/** The fields of an index in order. Unique indexes have exactly their fields; others end with the id, so that their order is total. */
export function indexFields({ fields, unique }: IndexDefinition): string[] {
  return [...new Set([...fields.map(fieldName), ...(unique ? [] : ["_id"])])];
}

function wantedIndex(name: string, definition: IndexDefinition): WantedIndex {
  const key = Object.fromEntries(indexFields(definition).map((field) => [field, 1 as const]));
  if (!definition.unique) return { name, key };
  const present = Object.fromEntries(definition.fields.map((field) => [fieldName(field), { $exists: true as const }]));
  return { name, key, unique: true, partialFilterExpression: present };
}

async function createCollection(database: Db, name: string): Promise<void> {
  try {
    await database.createCollection(name);
  } catch (error) {
    // Another control plane that starts at the same time created it first.
    if (!(error instanceof MongoServerError && error.code === NAMESPACE_EXISTS)) throw error;
  }
}

async function prepareIndexes(collection: Collection, wanted: readonly WantedIndex[]): Promise<void> {
  if (wanted.length === 0) return;
  const missing = await verify(collection, wanted);
  if (missing.length === 0) return;
  try {
    await collection.createIndexes(missing);
  } catch (cause) {
    const names = missing.map(({ name }) => name).join(", ");
    throw new Error(`MongoDB could not build the indexes ${names} of ${collection.namespace}: ${String(cause)}`, { cause });
  }
  const [still] = await verify(collection, missing);
  if (still) throw new Error(`MongoDB has no index ${still.name} of ${collection.namespace} although it was just built`);
}

/** Returns missing indexes; throws if an index of the same name differs. */
async function verify(collection: Collection, wanted: readonly WantedIndex[]): Promise<WantedIndex[]> {
  const found = new Map((await collection.listIndexes().toArray()).map((index: IndexDescriptionInfo) => [index.name, index]));
  return wanted.filter((index) => {
    const there = found.get(index.name);
    if (there && outline(there) !== outline(index)) {
      const difference = `it is ${outline(there)} and must be ${outline(index)}`;
      throw new Error(
        `the index ${index.name} of ${collection.namespace} differs: ${difference}. Drop it; it is built again at the next start.`,
      );
    }
    return !there;
  });
}

function outline(index: IndexDescriptionInfo | WantedIndex): string {
  const { sparse, collation, hidden } = index as IndexDescriptionInfo;
  const partial = Object.entries(index.partialFilterExpression ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify({ key: Object.entries(index.key), unique: index.unique === true, partial, sparse, collation, hidden });
}
