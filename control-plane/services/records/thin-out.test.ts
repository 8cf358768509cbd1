import { removeOldRecords } from "../../jobs/remove-records.ts";
import type { Store } from "../../stores/store.ts";
import { commitRecords } from "../../writes/records.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { recordsHandlers } from "./service.ts";
import { CHILDREN_MAX } from "./thin-out.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const record = (id: string, { kind = "message", ...more }: { kind?: string; parentId?: string; expiresAt?: number } = {}) => ({
  ...{ id, kind, organizationId: platform.organization.id, keyId: "key_1", body: "{}", createdAt: 1, ...more },
});

/** A thread with messages, and a run with as many steps. */
async function fill(store: Store, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  const thread = { ...record("thread_1", { kind: "thread", expiresAt: 5 }) };
  const run = record("run_1", { kind: "run", parentId: "thread_1" });
  const messages = numbers.map((number) => record(`msg_${number}`, { parentId: "thread_1" }));
  const steps = numbers.map((number) => record(`step_${number}`, { kind: "run_step", parentId: "run_1" }));
  const writes = [thread, run, ...messages, ...steps].map((each) => ({ type: "create" as const, record: each }));
  await store.transaction("every", (tx) => commitRecords(tx, { teamId: platform.team.id, writes }, 1));
  // A record of another team under the same parent, which only names it.
  const foreign = { type: "create" as const, record: record("foreign", { parentId: "thread_1" }) };
  await store.transaction("every", (tx) => commitRecords(tx, { teamId: "team_other", writes: [foreign] }, 1));
}

/** Counts the removals of each transaction. */
function watched(store: Store): { store: Store; removals: number[] } {
  const removals: number[] = [];
  const transaction: Store["transaction"] = (scopes, work) =>
    store.transaction(scopes, async (tx) => {
      let count = 0;
      const remove: typeof tx.remove = (...given) => {
        count++;
        return tx.remove(...given);
      };
      const result = await work(withMethod(tx, "remove", remove));
      removals.push(count);
      return result;
    });
  return { store: withMethod(store, "transaction", transaction), removals };
}

function withMethod<Target extends object>(target: Target, name: keyof Target, method: unknown): Target {
  return new Proxy(target, {
    get: (own, asked) => {
      const value: unknown = asked === name ? method : Reflect.get(own, asked);
      return typeof value === "function" && asked !== name ? value.bind(own) : value;
    },
  });
}

test.each([
  [
    "a request",
    async (store: Store) => {
      const remove = { kind: "thread", id: "thread_1", expectedRevision: undefined, withChildren: true };
      const writes = [{ write: { $case: "remove" as const, value: remove } }];
      await recordsHandlers({ ...platform.deps, store }).commitRecords({ teamId: platform.team.id, writes }, platform.as("anonymous"));
    },
  ],
  ["the job", (store: Store) => removeOldRecords(10, { store })],
])(
  "a long thread is removed by %s in transactions of bounded size, with all below it and nothing of another team",
  async (_who, remove) => {
    await fill(platform.deps.store, 3 * CHILDREN_MAX);
    const { store, removals } = watched(platform.deps.store);
    await remove(store);
    const left = await Array.fromAsync(platform.deps.store.scan("records"));
    expect(left.map(({ id }) => id)).toEqual(["foreign"]);
    expect(removals.length).toBeGreaterThan(3);
    expect(Math.max(...removals)).toBeLessThan(CHILDREN_MAX * CHILDREN_MAX);
    expect(removals.reduce((sum, count) => sum + count, 0)).toBe(6 * CHILDREN_MAX + 2);
  },
);
