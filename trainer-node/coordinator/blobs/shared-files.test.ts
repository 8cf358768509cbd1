import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSharedFiles } from "./shared-files.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-shared-"));
const path = join(folder, "model");

afterAll(() => rmSync(folder, { recursive: true }));

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(Uint8Array.from(piece));
  return Buffer.concat(read).toString();
}

test.each([0, 1, 7, 8, 9, 1000])("a file of %i bytes reaches every reader completely", async (bytes) => {
  const text = "abcdefghijk".repeat(100).slice(0, bytes);
  writeFileSync(path, text);
  const files = createSharedFiles({ pieceBytes: 8 });
  expect(await Promise.all([whole(files.read(path)), whole(files.read(path)), whole(files.read(path))])).toEqual([text, text, text]);
});

test("readers that keep up share a piece, and a reader that is far behind reads from disk itself", async () => {
  writeFileSync(path, "x".repeat(800));
  const files = createSharedFiles({ pieceBytes: 8 });
  const [first, second, late] = [files.read(path), files.read(path), files.read(path)];
  const { value: piece } = await first.next();
  expect((await second.next()).value).toBe(piece);
  const stays = Buffer.from(piece);
  for (let count = 0; count < 50; count++) await first.next();
  // The second is still at its first piece: nothing else is put there.
  expect(piece).toEqual(stays);
  const { value: own } = await late.next();
  expect(own).not.toBe(piece);
  expect(own).toEqual(piece);
  await Promise.all([first, second, late].map((reader) => reader.return(undefined)));
});

test("memory of pieces that all have behind them is used again", async () => {
  writeFileSync(path, "0123456789abcdef".repeat(100));
  const files = createSharedFiles({ pieceBytes: 16 });
  const readers = [files.read(path), files.read(path)];
  const memories = new Set<unknown>();
  for (let count = 0; count < 100; count++) {
    for (const reader of readers) memories.add((await reader.next()).value?.buffer);
  }
  expect(memories.size).toBeLessThan(15);
  await Promise.all(readers.map((reader) => reader.return(undefined)));
});

test("a file without readers is forgotten: a later file of the same name is read again", async () => {
  const files = createSharedFiles({ pieceBytes: 8 });
  writeFileSync(path, "one");
  const left = files.read(path);
  await left.next();
  await left.return(undefined);
  writeFileSync(path, "two");
  expect(await whole(files.read(path))).toBe("two");
});

test("a missing file is a failure of its reader", async () => {
  await expect(whole(createSharedFiles().read(join(folder, "gone")))).rejects.toThrow("ENOENT");
});
