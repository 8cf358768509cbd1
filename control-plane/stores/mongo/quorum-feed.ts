import { type Db, MongoClient, type MongoClientOptions } from "mongodb";
import { type FeedPlace, laneOf } from "../../../common/feed-place.ts";
import { ignore, orElse } from "../../../common/ignore.ts";
import type { FeedRow } from "../../domain/records.ts";
import { fromDocument, type StoredDocument } from "./documents.ts";
import { readFeedEnds } from "./feed-watch.ts";
import type { PrimaryWatch } from "./primary-watch.ts";
import { isQuorum, type SetConfig } from "./quorum.ts";

export interface QuorumFeedOptions {
  readonly uri: string;
  readonly database: string;
  readonly client: MongoClient;
  readonly primary: PrimaryWatch;
  readonly options: MongoClientOptions;
}

interface Answer {
  readonly host: string;
  /** Undefined: the account may not read it. */
  readonly config: SetConfig | undefined;
  readonly rows: readonly FeedRow[];
}

/** Limit of one read of a secondary. */
export const SECONDARY_MS = 1_000;
const ROWS_MAX = 1_000;

/**
 * Reads the feed from secondaries while the primary is out of reach: killed, frozen, or cut off. A change counts once a majority has it, so
 * secondaries that belong to every majority know of every change, whatever the primary does meanwhile.
 */
export class QuorumFeed {
  readonly #options: QuorumFeedOptions;
  readonly #members = new Map<string, MongoClient>();

  constructor(options: QuorumFeedOptions) {
    this.#options = options;
    options.primary.onFound(() => void this.close());
  }

  /** Undefined: the primary is in reach, or too few members answer to know every change. */
  async read(after: FeedPlace): Promise<FeedRow[] | undefined> {
    const { primary } = this.#options;
    if (!primary.isOutOfReach) return undefined;
    const asked = primary.secondaries.map((host) =>
      orElse(this.#ask(host, after), undefined, "a member that does not answer is not counted"),
    );
    const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined);
    if (!primary.isLost && !isQuorum(answers)) return undefined;
    const rows = new Map(answers.flatMap(({ rows: found }) => found.map((row) => [row.id, row] as const)));
    return answers.length === 0 ? undefined : [...rows.values()].sort((one, other) => one.id - other.id);
  }

  async close(): Promise<void> {
    const members = [...this.#members.values()];
    this.#members.clear();
    await Promise.all(members.map((member) => ignore(member.close(), "it is not used any more")));
  }

  async #ask(host: string, after: FeedPlace): Promise<Answer> {
    const member = this.#memberAt(host);
    const [config, rows] = await Promise.all([configOf(member), readRows(member.db(this.#options.database), after)]);
    return { host, config, rows };
  }

  #memberAt(host: string): MongoClient {
    const known = this.#members.get(host);
    if (known) return known;
    const { uri, options, client } = this.#options;
    const source = client.options.credentials?.source;
    const member = new MongoClient(addressOf(uri, host), {
      ...options,
      tls: client.options.tls,
      ...(source ? { authSource: source } : {}),
      directConnection: true,
      serverSelectionTimeoutMS: SECONDARY_MS,
      maxPoolSize: 2,
    });
    this.#members.set(host, member);
    return member;
  }
}

/** The same address with one member instead of all, or of the name they are found by. */
function addressOf(uri: string, host: string): string {
  return uri.replace(
    /^mongodb(?:\+srv)?:\/\/([^/?@]*@)?[^/?]+/,
    (_all, account: string | undefined) => `mongodb://${account ?? ""}${host}`,
  );
}

async function configOf(member: MongoClient): Promise<SetConfig | undefined> {
  const answer = orElse(member.db("admin").command({ replSetGetConfig: 1 }), undefined, "an account without the right to read it");
  return (await answer)?.["config"];
}

/** Feed rows of one secondary, committed by the majority or not: an edge that receives too many changes only reloads. */
async function readRows(database: Db, after: FeedPlace): Promise<FeedRow[]> {
  const options = { readPreference: "secondaryPreferred", readConcern: { level: "local" } } as const;
  const ends = await readFeedEnds(database.collection<StoredDocument>("counters", options), SECONDARY_MS);
  const ranges = ends.filter((end) => !after.covers(end)).map((end) => ({ _id: { $gt: after.at(laneOf(end)), $lte: end } }));
  if (ranges.length === 0) return [];
  const feed = database.collection<StoredDocument>("feed", options);
  const documents = await feed.find({ $or: ranges }, { sort: { _id: 1 }, limit: ROWS_MAX, maxTimeMS: SECONDARY_MS }).toArray();
  return documents.map((document) => fromDocument<"feed">(document));
}
