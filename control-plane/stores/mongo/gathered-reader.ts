import { gather } from "../../../common/gather.ts";
import { type CollectionName, type IndexName, type IndexValue, indexesOf, type Records } from "../collections.ts";
import { scalar } from "./documents.ts";
import { MongoReader } from "./reader.ts";

/** Further reads of one kind wait for the command that is under way, unless that is late: its connection may hang. */
const BESIDE = { parallel: 2, lateMs: 100 };

type Lane = (value: IndexValue) => Promise<unknown>;

/**
 * Reads outside transactions. Reads of single records that arrive while others of their collection are under way share one command: the cost
 * of a read is that of its command, and thousands of keys that are used once a minute are looked up one by one.
 */
export class GatheredReader extends MongoReader {
  readonly #lanes = new Map<string, Lane>();

  override async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    const lane = this.#laneOf(collection, (ids) => this.getMany(collection, ids));
    // Checked here: a value that is none fails alone, not the batch.
    return (await lane(scalar(id))) as Records[Name] | undefined;
  }

  override async find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined> {
    const [value] = values;
    if (value === undefined || indexesOf(collection)[index]?.fields.length !== 1) return super.find(collection, index, values);
    const lane = this.#laneOf(`${collection} ${index}`, async (among) => {
      const lists = await this.listMany(collection, index, among);
      return lists.map(([record]) => record);
    });
    return (await lane(scalar(value))) as Records[Name] | undefined;
  }

  #laneOf(name: string, readAll: (values: IndexValue[]) => Promise<readonly unknown[]>): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane = gather(async (values: IndexValue[]) => (await readAll(values)).map((answer) => ({ answer })), BESIDE);
    this.#lanes.set(name, lane);
    return lane;
  }
}
