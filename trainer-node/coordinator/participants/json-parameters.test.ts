import { hash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { createJsonFiles, createParametersReader, jsonWithFiles } from "./json-parameters.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-json-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const stored = (name: string, bytes: Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return { path, bytes: bytes.byteLength };
};

const collected = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const copies: Buffer[] = [];
  for await (const piece of pieces) copies.push(Buffer.from(piece));
  return Buffer.concat(copies);
};

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.byteLength; turn++) {
    const size = sizes[turn % sizes.length] as number;
    yield bytes.slice(at, at + size);
    at += size;
  }
}

const model = fc.uint8Array({ maxLength: 200 });

describe("JSON with files", () => {
  test("is what JSON.stringify makes of it, with its size and hash, wherever the files are cut", async () => {
    const fields = fc.record({ method: fc.string(), dataset: fc.jsonValue({ maxDepth: 2 }) }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(
        fields,
        model,
        fc.array(model, { maxLength: 4 }),
        fc.integer({ min: 1, max: 30 }),
        async (given, one, list, size) => {
          const files = createJsonFiles({ pieceBytes: size * 3 });
          const parameters_list = list.map((bytes, index) => stored(`list-${index}`, bytes));
          const body = jsonWithFiles(given, { parameters: stored("one", one), parameters_list });
          const text = await collected(files.pieces(body.json));
          const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
          expect(text.toString()).toBe(JSON.stringify({ ...given, parameters: base64(one), parameters_list: list.map(base64) }));
          expect([body.bytes, await files.sha256(body.json)]).toEqual([text.byteLength, hash("sha256", text, "hex")]);
        },
      ),
    );
  });

  test("two pieces are valid at a time, of files of more pieces than there is memory for", async () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, index) => index);
    const { json } = jsonWithFiles({}, { parameters: stored("long", bytes) });
    let before: { piece: Uint8Array; copy: string } | undefined;
    for await (const piece of createJsonFiles({ pieceBytes: 6 }).pieces(json)) {
      if (before) expect(Buffer.from(before.piece).toString()).toBe(before.copy);
      before = { piece, copy: Buffer.from(piece).toString() };
    }
    expect(before?.copy).toBe("}");
  });
});

describe("parameters in a JSON answer", () => {
  const read = async (text: string, sizes: readonly number[]) => {
    const reader = createParametersReader();
    const bytes = await collected(reader.bytes(cut(Buffer.from(text), sizes)));
    return { bytes, fields: reader.fields() };
  };
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });

  test("are their bytes, and the other fields what JSON.parse reads, wherever the answer is cut", async () => {
    const rest = fc.record({ num_samples: fc.integer(), metrics: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })) });
    const some = fc.uint8Array({ minLength: 1, maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(some, rest, sizes, fc.boolean(), fc.boolean(), async (bytes, other, cuts, isLast, isEscaped) => {
        const parameters = Buffer.from(bytes).toString("base64");
        const plain = JSON.stringify(isLast ? { ...other, parameters } : { parameters, ...other });
        const { bytes: found, fields } = await read(isEscaped ? plain.replace(parameters, parameters.replaceAll("/", "\\/")) : plain, cuts);
        expect(found.equals(bytes)).toBe(true);
        expect({ ...fields, parameters }).toEqual(JSON.parse(plain));
      }),
    );
  });

  test("of several megabytes come in pieces, in chunks of any size", async () => {
    const bytes = Buffer.alloc(3_000_001, "abc/+ü");
    for (const size of [65_536, 1_000_003, 10_000_000]) {
      const pieces: number[] = [];
      const reader = createParametersReader();
      const whole: Buffer[] = [];
      for await (const piece of reader.bytes(cut(Buffer.from(JSON.stringify({ parameters: bytes.toString("base64") })), [size]))) {
        pieces.push(piece.byteLength);
        whole.push(Buffer.from(piece));
      }
      expect(Buffer.concat(whole).equals(bytes)).toBe(true);
      expect(Math.max(...pieces)).toBeLessThan(400_000);
    }
  });

  test.each([
    ['{"accuracy":1}', "its answer has no parameters"],
    ['{"parameters":null}', "its answer has no parameters"],
    ['{"parameters":""}', "its answer has no parameters"],
    ['{"parameters":7}', "its answer has no parameters"],
    ['{"parameters":["AAAA"]}', "its answer has no parameters"],
    ['{"result":{"parameters":"AAAA"}}', "its answer has no parameters"],
    ['{"parameters":"AAAA","parameters":"AAAA"}', "its answer has the field parameters twice"],
    [
      '{"parameters":"AA*A"}',
      "its answer is invalid: parameters is not base64: it has a character outside the standard alphabet at offset 2",
    ],
    ['{"parameters":"AAAA', "its answer is not JSON"],
    ['{"parameters":"AAAA"', "its answer is not JSON"],
    ["<!doctype html>", "its answer is not JSON"],
    ["", "its answer is not JSON"],
    ['["parameters"]', "its answer is invalid: The body must be a JSON object."],
    [`${'{"a":'.repeat(65)}`, "its answer is not JSON"],
  ])("%s is the participant's failure", async (text, message) => {
    for (const size of [1, 3, 1000])
      await expect(read(text, [size])).rejects.toMatchObject({ name: "ParticipantProblem", message, again: false });
  });

  test("the rest of an answer has a limit", async () => {
    const text = `{"parameters":"AAAA","x":"${" ".repeat(17 * 1024 * 1024)}"}`;
    await expect(read(text, [1_000_000])).rejects.toMatchObject({ message: expect.stringContaining("the limit is") });
  });
});
