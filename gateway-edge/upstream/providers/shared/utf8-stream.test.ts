import fc from "fast-check";
import { Utf8Stream } from "./utf8-stream.ts";

const MARK = [0xef, 0xbb, 0xbf];
/** Bytes that begin, continue and break characters of all lengths. */
const hostile = fc.array(
  fc.constantFrom(0x41, 0x0a, 0x7f, 0x80, 0xbf, 0xc3, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf0, 0x9f, 0x98, 0x80, 0xf5, 0xff, ...MARK),
);
const bytes = fc.oneof(
  hostile,
  fc.string({ unit: "binary" }).map((text) => [...Buffer.from(text)]),
  fc.tuple(fc.constant(MARK), hostile).map((parts) => parts.flat()),
);

test("the text is that of all bytes at once, however they are divided", () => {
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 6 }), fc.boolean(), (pieces, asBuffers) => {
      // Nothing is left open at the end.
      const all = [...pieces, [0x2e]];
      const stream = new Utf8Stream();
      const texts = all.map((piece) => stream.take(asBuffers ? Buffer.from(piece) : Uint8Array.from(piece)));
      expect(texts.join("")).toBe(new TextDecoder().decode(Uint8Array.from(all.flat())));
    }),
    { numRuns: 5000 },
  );
});
