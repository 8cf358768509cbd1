import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { collect } from "../page.ts";
import type { Store } from "../store.ts";
import { openEmbeddedStore } from "./store.ts";

let folder: string;
let store: Store;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-snapshot-"));
  store = openEmbeddedStore(join(folder, "store"));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const ROWS = 50;
const addRows = (batch: number) =>
  store.transaction("every", async (tx) => {
    for (let row = 0; row < ROWS; row++) await tx.insert("settings", { id: `${batch}/${row}`, value: "x".repeat(2000) });
    await tx.put("counters", { id: "batches", value: batch });
  });

async function copyOf(name: string): Promise<string> {
  const target = join(folder, name);
  if (!store.snapshot) throw new Error("the embedded store has snapshots");
  await (await store.snapshot(target)).close();
  return target;
}

test("a snapshot that is taken while transactions go on is a store as of one of them", async () => {
  let batch = 0;
  let isWriting = true;
  const writer = (async () => {
    while (isWriting) {
      await addRows(++batch);
      await nextTurn();
    }
  })();
  const copies: string[] = [];
  for (let count = 0; count < 4; count++) copies.push(await copyOf(`copy-${count}`));
  isWriting = false;
  await writer;
  for (const copy of copies) {
    const opened = openEmbeddedStore(copy);
    const batches = (await opened.get("counters", "batches"))?.value ?? 0;
    expect([await opened.count("settings"), batches <= batch]).toEqual([ROWS * batches, true]);
    await opened.close();
  }
});

test("a snapshot has the blobs of its records, also one that is removed while it is taken", async () => {
  const once = async function* (text: string) {
    yield Buffer.from(text);
  };
  for (let count = 0; count < 40; count++) await addRows(count);
  await store.blobs.put("stays", once("stays"));
  await store.blobs.put("goes", once("goes"));
  const taken = copyOf("copy");
  await store.blobs.remove("goes");
  const opened = openEmbeddedStore(await taken);
  const read = async (name: string) => Buffer.concat(await collect((await opened.blobs.get(name)) ?? once(""))).toString();
  expect([await read("stays"), await read("goes"), await store.blobs.get("goes")]).toEqual(["stays", "goes", undefined]);
  await opened.close();
  const modes = readdirSync(join(folder, "copy"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o777);
  expect(new Set(modes)).toEqual(new Set([0o600]));
});
