import fc from "fast-check";
import { gathered } from "./give-back.ts";

test("bytes come in pieces of the size asked for and lose nothing, however they were cut before", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 }), async (chunks) => {
      const whole = Buffer.concat(chunks);
      const pieces: Buffer[] = [];
      for await (const piece of gathered(chunksOf(...chunks), 8)) pieces.push(Buffer.from(piece));
      expect(Buffer.concat(pieces)).toEqual(whole);
      expect(pieces.slice(0, -1).every(({ byteLength }) => byteLength === 8)).toBe(true);
    }),
  ));

test("a chunk's own memory is freed, and memory it shares is left alone", async () => {
  const [own, whole] = [new Uint8Array(4), new Uint8Array(8)];
  for await (const _piece of gathered(chunksOf(own, whole.subarray(4)), 8));
  expect([own.byteLength, whole.byteLength]).toEqual([0, 8]);
});

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
