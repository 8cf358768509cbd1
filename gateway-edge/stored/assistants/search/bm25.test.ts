import { search } from "./bm25.ts";
import { passagesOf } from "./passages.ts";

const file = (fileName: string, text: string) => passagesOf({ fileId: `file-${fileName}`, fileName, text });

test("the passage that shares the rarest words comes first; those that share none do not come at all", () => {
  const passages = [
    ...file("north", "Oslo is the capital of Norway. The sea is cold."),
    ...file("south", "Rome is the capital of Italy. The sea is warm."),
    ...file("none", "Bread needs flour, water and salt."),
  ];
  const found = search(passages, { query: "the capital of NORWAY?", limit: 10 });
  expect(found.map(({ passage }) => passage.fileName)).toEqual(["north", "south"]);
  expect(found[0]?.score).toBe(1);
  expect(found[1]?.score).toBeLessThan(1);
  expect(search(passages, { query: "the capital", limit: 1 })).toHaveLength(1);
  expect(search(passages, { query: "quantum", limit: 10 })).toEqual([]);
  expect(search([], { query: "x", limit: 10 })).toEqual([]);
});

test("a text without spaces is found too", () => {
  const passages = [...file("tokyo", "東京は日本の首都です"), ...file("rome", "ローマはイタリアにある")];
  expect(search(passages, { query: "日本の首都", limit: 1 })[0]?.passage.fileName).toBe("tokyo");
});

test("a long file is cut into passages that overlap, and not a word is lost", () => {
  const words = Array.from({ length: 1000 }, (_, index) => `word${index}`);
  const passages = file("long", words.join(" "));
  expect(passages.length).toBe(6);
  const seen = new Set(passages.flatMap(({ text }) => text.split(" ")));
  expect([...seen].sort()).toEqual([...words].sort());
  expect(passages[1]?.text.startsWith("word160 ")).toBe(true);
  expect(file("short", "  two words \n")).toMatchObject([{ text: "two words" }]);
  expect(file("empty", " \n ")).toEqual([]);
});
