import { givenBack } from "./give-back.ts";

test("a chunk is whole while it is looked at, its own memory is freed with the next, and memory it shares is left alone", async () => {
  const [own, whole] = [new Uint8Array(4).fill(1), new Uint8Array(8).fill(2)];
  const shared = whole.subarray(4);
  const seen: number[][] = [];
  for await (const chunk of givenBack(chunksOf(own, shared))) seen.push([...chunk]);
  expect(seen).toEqual([Array(4).fill(1), Array(4).fill(2)]);
  expect([own.byteLength, whole.byteLength, shared.byteLength]).toEqual([0, 8, 4]);
});

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
