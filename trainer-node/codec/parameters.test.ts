import fc from "fast-check";
import { Packr } from "msgpackr";
import { InputProblem } from "../compute/problem.ts";
import { createRandom } from "../compute/random.ts";
import { DTYPES, ELEMENT_BYTES, type Tensor, tensorBytes, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { NPY_TENSOR_NAME } from "./npy.ts";
import { decodeParameters, encodeParameters, FORMATS } from "./parameters.ts";

const tensorArbitrary = fc
  .record({
    dtype: fc.constantFrom(...DTYPES),
    shape: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 3 }),
    fill: fc.infiniteStream(fc.integer({ min: 0, max: 255 })),
  })
  .map(({ dtype, shape, fill }) => {
    const bytes = Uint8Array.from(fill.take(shape.reduce((product, size) => product * size, 1) * ELEMENT_BYTES[dtype]));
    return tensorFromBytes({ name: NPY_TENSOR_NAME, dtype, shape }, bytes);
  });

function expectSame(actual: readonly Tensor[], expected: readonly Tensor[]): void {
  expect(actual.map(({ name, dtype, shape }) => ({ name, dtype, shape }))).toEqual(
    expected.map(({ name, dtype, shape }) => ({ name, dtype, shape })),
  );
  // By bytes, so that NaNs and negative zeros count too.
  expect(actual.map((tensor) => Buffer.from(tensorBytes(tensor)).toString("hex"))).toEqual(
    expected.map((tensor) => Buffer.from(tensorBytes(tensor)).toString("hex")),
  );
}

/** Whatever the bytes, a caller gets tensors or a coded refusal; anything else would be a 500 or a dead thread. */
function decodeOrRefuse(bytes: Uint8Array): number {
  try {
    decodeParameters(bytes);
    return 200;
  } catch (thrown) {
    if (thrown instanceof TrainerError) return thrown.status;
    expect(thrown).toBeInstanceOf(InputProblem);
    return 422;
  }
}

const weight = tensorFromBytes(
  { name: "weight", dtype: "f32", shape: [2, 3] },
  new Uint8Array(new Float32Array([1, 2, 3, 4, 5, 6]).buffer),
);
const steps = tensorFromBytes({ name: "steps", dtype: "i64", shape: [1] }, new Uint8Array(new BigInt64Array([7n]).buffer));

describe("containers of parameters", () => {
  test("msgpack gives back every tensor, bit for bit, and equal tensors have equal bytes", () => {
    const named = fc.uniqueArray(fc.tuple(fc.string(), tensorArbitrary), { selector: ([name]) => name, maxLength: 4 });
    fc.assert(
      fc.property(named, (pairs) => {
        const tensors = pairs.map(([name, tensor]) => ({ ...tensor, name }) as Tensor);
        const bytes = encodeParameters(tensors, "msgpack");
        const decoded = decodeParameters(bytes);
        expect(decoded.format).toBe("msgpack");
        expectSame(decoded.tensors, tensors);
        expect(encodeParameters(decoded.tensors, "msgpack")).toEqual(bytes);
      }),
    );
  });

  test.each(["safetensors", "npz"] as const)("%s gives back every tensor, bit for bit, whatever their order", (format) => {
    const named = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), tensorArbitrary), { selector: ([name]) => name, maxLength: 4 });
    const byName = (left: Tensor, right: Tensor) => (left.name < right.name ? -1 : 1);
    fc.assert(
      fc.property(named, (pairs) => {
        const tensors = pairs
          .map(([name, tensor]) => ({ ...tensor, name }) as Tensor)
          .filter((tensor) => (format === "npz" ? tensor.dtype !== "bf16" : tensor.name !== "__metadata__"));
        if (tensors.length === 0) return;
        const decoded = decodeParameters(encodeParameters(tensors, format));
        expect(decoded.format).toBe(format);
        expectSame(decoded.tensors.toSorted(byName), tensors.toSorted(byName));
      }),
    );
  });

  test("npy gives back its tensor, bit for bit", () => {
    fc.assert(
      fc.property(
        tensorArbitrary.filter((tensor) => tensor.dtype !== "bf16"),
        (tensor) => {
          const decoded = decodeParameters(encodeParameters([tensor], "npy"));
          expect(decoded.format).toBe("npy");
          expectSame(decoded.tensors, [tensor]);
        },
      ),
    );
  });

  test.each([
    ["msgpack", encodeParameters([weight, steps], "msgpack")],
    ["safetensors", encodeParameters([weight, steps], "safetensors")],
    ["npz", encodeParameters([weight, steps], "npz")],
    ["npy", encodeParameters([weight], "npy")],
  ])("%s cut short at any offset, or with a byte too many, is a 4xx", (_name, whole) => {
    for (let length = 0; length < whole.length; length++) {
      expect([413, 415, 422]).toContain(decodeOrRefuse(whole.slice(0, length)));
    }
    expect(decodeOrRefuse(Buffer.concat([whole, Buffer.of(0)]))).toBe(422);
    expect(decodeOrRefuse(whole)).toBe(200);
  });

  test.each([
    ["msgpack", encodeParameters([weight, steps], "msgpack")],
    ["safetensors", encodeParameters([weight, steps], "safetensors")],
    ["npz", encodeParameters([weight, steps], "npz")],
    ["npy", encodeParameters([weight], "npy")],
  ])("%s with bytes changed anywhere is read or refused, never a failure of ours", (_name, whole) => {
    const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(changes, (list) => {
        const bytes = whole.slice();
        for (const [offset, value] of list) bytes[offset] = value;
        expect([200, 413, 415, 422]).toContain(decodeOrRefuse(bytes));
      }),
      { numRuns: 1500 },
    );
  });
});

test("100,000 mutations of good containers: each is read or refused by a code, none takes long or much", () => {
  const random = createRandom(7, 7);
  const good = [
    ...FORMATS.map((format) => encodeParameters(format === "npy" ? [weight] : [weight, steps], format)),
    ...Object.values(jest.requireActual<Record<string, string>>("./__fixtures__/python-files.json")).map((text) =>
      Buffer.from(text, "base64"),
    ),
  ].filter((bytes) => bytes.byteLength < 4096);
  const statuses = new Map<number, number>();
  for (let round = 0; round < 100_000; round++) {
    const bytes = Uint8Array.from(good[random.below(good.length)] as Uint8Array);
    const changes = 1 + random.below(4);
    for (let change = 0; change < changes; change++) {
      const at = random.below(bytes.byteLength);
      // Bits, extremes and copies of other places: lengths and offsets are where it hurts.
      const kind = random.below(3);
      bytes[at] =
        kind === 0
          ? (bytes[at] as number) ^ (1 << random.below(8))
          : kind === 1
            ? 255 * random.below(2)
            : (bytes[random.below(bytes.byteLength)] as number);
    }
    const status = decodeOrRefuse(random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.byteLength)) : bytes);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect([...statuses.keys()].toSorted((left, right) => left - right)).toEqual([200, 413, 415, 422]);
});

describe("hostile msgpack containers", () => {
  const good = { names: ["w"], shapes: [[1]], dtypes: ["f32"], data: [Buffer.alloc(4)] };
  const wrap = (packed: Uint8Array) => Buffer.concat([Buffer.from("TRB1\x01", "latin1"), packed]);
  const pack = (value: unknown) => wrap(new Packr({ useRecords: false, moreTypes: true }).pack(value));

  test("the untouched one is read, so that the refusals below are for their own reason", () => {
    expect(decodeOrRefuse(pack(good))).toBe(200);
  });

  test.each<[string, unknown]>([
    ["a shape whose product wraps", { ...good, shapes: [[2 ** 32, 2 ** 32]] }],
    ["a shape too large for its data", { ...good, shapes: [[1_000_000_000]] }],
    ["a huge dimension next to zero", { ...good, shapes: [[2 ** 50, 0]], data: [Buffer.alloc(0)] }],
    ["a negative dimension", { ...good, shapes: [[-1]] }],
    ["a fractional dimension", { ...good, shapes: [[0.5, 2]] }],
    ["a dimension that is a text", { ...good, shapes: [["1"]] }],
    ["too many dimensions", { ...good, shapes: [new Array(33).fill(1)] }],
    ["data that are text", { ...good, data: ["abcd"] }],
    ["data of another length", { ...good, data: [Buffer.alloc(5)] }],
    ["lists of different lengths", { ...good, names: ["w", "v"] }],
    ["one name twice", { names: ["w", "w"], shapes: [[1], [1]], dtypes: ["f32", "f32"], data: [Buffer.alloc(4), Buffer.alloc(4)] }],
    ["a name too long", { ...good, names: ["w".repeat(513)] }],
    ["a Set for a list", { ...good, names: new Set(["w"]) }],
    ["a regular expression for a name", { ...good, names: [/(a+)+$/] }],
    ["a key too many", { ...good, more: 1 }],
    ["no map", [1, 2, 3]],
    ["nothing", null],
  ])("%s is a 422", (_name, value) => {
    expect(decodeOrRefuse(pack(value))).toBe(422);
  });

  test("an unknown dtype or version is a 415", () => {
    expect(decodeOrRefuse(pack({ ...good, dtypes: ["f8"] }))).toBe(415);
    expect(decodeOrRefuse(Buffer.from("TRB1\x02", "latin1"))).toBe(415);
  });

  test("nesting of 200,000 lists is a 422, not a dead thread", () => {
    const deep = wrap(Buffer.alloc(200_000, 0x91));
    expect(decodeOrRefuse(deep)).toBe(422);
    expect(() => decodeParameters(deep)).toThrow("the msgpack container is damaged: its lists are nested too deeply");
  });
});

describe("npy of NumPy", () => {
  // numpy.save of numpy.array([[1, 2], [3, 4]], '>f4'), written down: NumPy is not needed to run the tests.
  const file = (version: number, header: string, data: Uint8Array): Buffer => {
    const length = version === 1 ? Buffer.alloc(2) : Buffer.alloc(4);
    if (version === 1) length.writeUInt16LE(header.length);
    else length.writeUInt32LE(header.length);
    return Buffer.concat([Buffer.from("\x93NUMPY", "latin1"), Buffer.of(version, 0), length, Buffer.from(header, "latin1"), data]);
  };
  const bigEndian = Buffer.from("3f800000400000004040000040800000", "hex");

  test.each([1, 2, 3])("version %i is read, big-endian values too", (version) => {
    const { tensors } = decodeParameters(file(version, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }   \n", bigEndian));
    expect(tensors).toMatchObject([{ name: NPY_TENSOR_NAME, dtype: "f32", shape: [2, 2] }]);
    expect([...(tensors[0]?.data ?? [])]).toEqual([1, 2, 3, 4]);
  });

  test.each([
    ["Python objects", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", 415],
    ["long doubles", "{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }\n", 415],
    ["a shape too large", "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }\n", 422],
    ["code for a header", "__import__('os').system('true')\n", 422],
  ])("%s are refused", (_name, header, status) => {
    expect(decodeOrRefuse(file(1, header, bigEndian))).toBe(status);
  });

  test("a header length beyond all reason is refused before it is read", () => {
    expect(decodeOrRefuse(Buffer.concat([Buffer.from("\x93NUMPY\x02\x00", "latin1"), Buffer.of(255, 255, 255, 255)]))).toBe(422);
  });
});

describe("what is never read", () => {
  test.each([
    ["a pickle of protocol 2", Buffer.of(0x80, 2, 0x7d)],
    ["a pickle of protocol 5", Buffer.of(0x80, 5, 0x7d)],
    ["a torch.save archive", Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.from("archive/data.pkl")])],
    ["anything else", Buffer.from("hello")],
    ["one byte", Buffer.of(0)],
  ])("%s is a 415 with advice", (_name, bytes) => {
    expect(() => decodeParameters(bytes)).toThrow(
      expect.objectContaining({ kind: "UNSUPPORTED_PARAMETERS", message: expect.stringContaining("Send safetensors or npy") }),
    );
  });
});
