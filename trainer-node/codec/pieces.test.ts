import fc from "fast-check";
import { Packr } from "msgpackr/index-no-eval";
import type { Tensor } from "../compute/tensor.ts";
import { encodeParameters } from "./parameters.ts";
import { byThrees, joinPieces } from "./pieces.ts";

test("base64 made of the threes is base64 of the whole, however the pieces are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 }), (pieces) => {
      const text = [...byThrees(pieces, 6)].map((piece) => Buffer.from(piece).toString("base64")).join("");
      expect(text).toBe(Buffer.concat(pieces).toString("base64"));
      expect(Buffer.from(joinPieces(pieces))).toEqual(Buffer.concat(pieces));
    }),
  );
});

test.each([0, 1, 15, 16, 70_000])("the msgpack container of %s tensors has the bytes that a packer gives the whole map", (count) => {
  const lengths = count === 1 ? [70_000] : Array.from({ length: count }, (_, index) => (index === 3 ? 300 : index % 2));
  const tensors = lengths.map((length, index): Tensor => {
    return { name: `w${index}`, dtype: "u8", shape: [length], data: new Uint8Array(length).fill(index) };
  });
  const packed = new Packr({ useRecords: false, variableMapSize: true }).pack({
    names: tensors.map(({ name }) => name),
    shapes: tensors.map(({ shape }) => [...shape]),
    dtypes: tensors.map(({ dtype }) => dtype),
    data: tensors.map(({ data }) => Buffer.from(data as Uint8Array)),
  });
  expect(Buffer.from(encodeParameters(tensors, "msgpack")).subarray(5).equals(packed)).toBe(true);
});
