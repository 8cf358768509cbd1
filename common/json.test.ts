import { canonicalJson, fromJson, toJson } from "./json.ts";

test("whole numbers of any size survive reading and writing; others stay as they are", () => {
  const text = '{"big":9007199254740993,"negative":-12345678901234567890,"fraction":1.5,"text":"12","list":[1,null,true]}';
  expect(toJson(fromJson(text))).toBe(text);
  expect(fromJson('{"power":1e3,"zero":0}')).toEqual({ power: 1000, zero: 0n });
});

test("a value has one canonical form, however it was written", () => {
  const form = '{"a":[{"x":1,"y":2},"s"],"b":{"c":null,"d":true}}';
  expect(canonicalJson(fromJson('{ "b": {"d":true, "c":null},\n "a": [{"y":2,"x":1}, "s"] }'))).toBe(form);
  expect(canonicalJson({ b: { d: true, c: null, gone: undefined }, a: [{ y: 2n, x: 1 }, "s"] })).toBe(form);
});
