import { crc32c } from "./crc32c.ts";

// RFC 3720, appendix B.4.
test.each([
  ["32 zeros", Buffer.alloc(32), 0x8a9136aa],
  ["32 ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
  ["0 to 31", Buffer.from(Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e],
  ["the digits", Buffer.from("123456789"), 0xe3069283],
  ["nothing", Buffer.alloc(0), 0],
])("the checksum of %s is the published one", (_name, bytes, expected) => {
  expect(crc32c(bytes)).toBe(expected);
});

test("a checksum that goes on from a part is the checksum of the whole, also out of the middle of a buffer", () => {
  const bytes = Buffer.from("..123456789..");
  const half = crc32c(bytes, { from: 2, to: 6 });
  expect(crc32c(bytes, { from: 6, to: 11, seed: half })).toBe(0xe3069283);
});
