import { copyBytes } from "./copy-bytes.ts";

test.each([
  ["own memory", () => new Uint8Array(64)],
  ["shared memory", () => new Uint8Array(new SharedArrayBuffer(64))],
])("exactly the bytes of the source are written, at any alignment, to and from %s", (_name, memory) => {
  for (let offset = 0; offset < 9; offset++) {
    for (const length of [0, 1, 7, 8, 31]) {
      const source = memory().subarray(offset, offset + length);
      for (let index = 0; index < length; index++) source[index] = index + 1;
      const whole = memory();
      copyBytes(source, whole.subarray(3));
      expect([...whole]).toEqual([0, 0, 0, ...Array.from({ length }, (_, index) => index + 1), ...new Array(61 - length).fill(0)]);
    }
  }
});

test("a source that does not fit is refused, and nothing behind the target is touched", () => {
  const whole = new Uint8Array(8);
  expect(() => copyBytes(new Uint8Array(5).fill(1), whole.subarray(0, 4))).toThrow("5 bytes do not fit in 4");
  expect([...whole]).toEqual(new Array(8).fill(0));
});
