import { chunksOf } from "./chunks.ts";

const chunking = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 25 };

test("a long text is cut between words into chunks that overlap, and not a word is lost", () => {
  const words = Array.from({ length: 1000 }, (_, place) => `word${place}`);
  const chunks = chunksOf(words.join(" "), chunking);
  expect(chunks.every((chunk) => chunk.length <= 400)).toBe(true);
  expect(new Set(chunks.flatMap((chunk) => chunk.split(" ")))).toEqual(new Set(words));
  for (const [place, chunk] of chunks.slice(1).entries()) expect(chunks[place]).toContain(chunk.split(" ")[0]);
});

test("a text without spaces is cut too, never inside a character", () => {
  const text = "😀".repeat(1001);
  const chunks = chunksOf(text, { ...chunking, chunk_overlap_tokens: 0 });
  expect(chunks.join("")).toBe(text);
  expect(chunks.every((chunk) => chunk.isWellFormed())).toBe(true);
});

test("a text of white space has no chunks", () => {
  expect(chunksOf(" \n\t ", chunking)).toEqual([]);
});
