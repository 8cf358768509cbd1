import { existsSync } from "node:fs";
import { NPY_TENSOR_NAME } from "./npy.ts";
import { decodeParameters, encodeParameters } from "./parameters.ts";

/** Files written by the real libraries (see `made_by` in the file), so that the tests need neither Python nor a network. */
const files = jest.requireActual<Record<string, string>>("./__fixtures__/python-files.json");
const file = (name: string): Buffer => Buffer.from(files[name] ?? "", "base64");

const EXPECTED: Record<string, { dtype: string; shape: number[]; values: unknown[] }> = {
  weight: { dtype: "f32", shape: [2, 3], values: [1.5, -2, 0.25, 4, 5, -6] },
  steps: { dtype: "i64", shape: [2], values: [7n, -8n] },
  half: { dtype: "f16", shape: [3], values: [0.0999755859375, 65504, -1.1920928955078125e-7] },
  mask: { dtype: "bool", shape: [2], values: [1, 0] },
  wide: { dtype: "f64", shape: [2], values: [Math.PI, -0] },
};

describe("files written by Python", () => {
  test.each(["npz", "npz_compressed", "safetensors"])("%s is read: every tensor, its type, its shape, its values", (name) => {
    const { format, tensors } = decodeParameters(file(name));
    expect(format).toBe(name.split("_")[0]);
    expect(
      Object.fromEntries(tensors.map(({ name: tensor, dtype, shape, data }) => [tensor, { dtype, shape, values: [...data] }])),
    ).toEqual(EXPECTED);
  });

  test("npy is read, and written back as NumPy writes it, byte for byte", () => {
    const { tensors } = decodeParameters(file("npy"));
    expect(tensors).toMatchObject([{ name: NPY_TENSOR_NAME, dtype: "f32", shape: [2, 3] }]);
    expect(Buffer.from(encodeParameters(tensors, "npy")).equals(file("npy"))).toBe(true);
  });

  test("npy in Fortran order, as NumPy saves a transposed matrix, has the values of its rows", () => {
    const { tensors } = decodeParameters(file("npy_fortran"));
    expect(tensors.map(({ dtype, shape, data }) => ({ dtype, shape, values: [...data] }))).toEqual([EXPECTED["weight"]]);
  });

  test("safetensors is written back with the tensors where the reference writer puts them", () => {
    const { tensors } = decodeParameters(file("safetensors"));
    const [ours, theirs] = [Buffer.from(encodeParameters(tensors, "safetensors")), file("safetensors")];
    const dataOf = (bytes: Buffer) => bytes.subarray(8 + Number(bytes.readBigUInt64LE()));
    expect(dataOf(ours).equals(dataOf(theirs))).toBe(true);
  });

  test.each([
    ["pickle2", "UNSUPPORTED_PARAMETERS"],
    ["pickle4", "UNSUPPORTED_PARAMETERS"],
    ["pickle5", "UNSUPPORTED_PARAMETERS"],
    ["pickle0", "UNSUPPORTED_PARAMETERS"],
    ["torch", "UNSUPPORTED_PARAMETERS"],
    ["npz_objects", "UNSUPPORTED_PARAMETERS"],
    ["npz_bzip2", "UNSUPPORTED_PARAMETERS"],
    ["npz_bomb", "PAYLOAD_TOO_LARGE"],
  ])("%s is refused with %s and has no effect", (name, kind) => {
    expect(() => decodeParameters(file(name))).toThrow(expect.objectContaining({ kind }));
    expect(existsSync("pickle-was-run")).toBe(false);
  });
});
