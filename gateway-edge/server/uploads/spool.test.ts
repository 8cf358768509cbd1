import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Spool } from "./spool.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-spool-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function readAll(spool: Spool): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of spool.read()) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("early and late readers get the written bytes in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 50_000 }), { maxLength: 12 }), async (sizes) => {
      const spool = new Spool(folder);
      const early = readAll(spool);
      const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1));
      for (const piece of pieces) await spool.write(piece);
      const middle = readAll(spool);
      spool.end();
      const expected = Buffer.concat(pieces);
      for (const read of [await early, await middle, await readAll(spool)]) expect(read.equals(expected)).toBe(true);
      expect(spool.size).toBe(expected.length);
      await spool.close();
    }),
    { numRuns: 30 },
  );
});

test("nothing of it has a name on the disk, from the first byte on", async () => {
  const spool = new Spool(folder);
  await spool.write(Buffer.alloc(200_000));
  expect(readdirSync(folder)).toEqual([]);
  await spool.close();
});

test("an upload that fails tells its readers why, after what it had; a second end changes nothing", async () => {
  const spool = new Spool(folder);
  await spool.write(Buffer.from("half"));
  const reading = readAll(spool);
  spool.fail(new Error("the client left"));
  spool.end();
  await expect(reading).rejects.toThrow("the client left");
  expect(spool.isEnded).toBe(false);
});

test("what is dropped while it is being written frees its file", async () => {
  const spool = new Spool(folder);
  await spool.write(Buffer.alloc(10));
  const writing = spool.write(Buffer.alloc(200_000));
  await spool.close();
  await expect(writing).rejects.toThrow("dropped");
  expect(readdirSync(folder)).toEqual([]);
});
