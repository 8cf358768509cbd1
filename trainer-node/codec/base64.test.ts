import fc from "fast-check";
import { decodeBase64 } from "./base64.ts";

describe("base64", () => {
  test("what is encoded is decoded to the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) =>
        expect([...decodeBase64(Buffer.from(bytes).toString("base64"), "p")]).toEqual([...bytes]),
      ),
    );
  });

  test.each([
    ["AQ*ID!AA", 2],
    ["AQ-_", 2],
    ["AQI", 3],
    ["A===", 1],
    ["AQ==AQ==", 2],
    ["AQID\n", 4],
    ["====", 0],
    ["Ä===", 0],
    ["AQI\u{1F600}", 3],
  ])("%j is refused at offset %i, never read in part", (text, offset) => {
    expect(() => decodeBase64(text, "parameters")).toThrow(
      expect.objectContaining({ kind: "INVALID_BASE64", details: { field: "parameters", offset } }),
    );
  });
});
