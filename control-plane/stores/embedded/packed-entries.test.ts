import { entriesIn, PackedEntries, unpackEntries } from "./packed-entries.ts";

test("entries that several indexes have in common are packed once, and others with the same first id by themselves", () => {
  const packed = new PackedEntries();
  const entries = [0, "call_1", 7, "call_2"];
  const bytes = packed.bytesOf(entries);
  expect(packed.bytesOf([...entries])).toBe(bytes);
  for (const others of [entries.slice(0, 2), [...entries, 8, "call_3"], [1, "call_1", 7, "call_2"], [0, "call_1", 7, "call_3"]]) {
    expect(unpackEntries(packed.bytesOf(others))).toEqual(others);
    expect(entriesIn(packed.bytesOf(others))).toBe(others.length / 2);
  }
  expect(unpackEntries(bytes)).toEqual(entries);
});
