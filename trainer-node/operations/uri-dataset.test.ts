import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { encodeParameters } from "../codec/parameters.ts";
import { type Node, startNode } from "../node-harness.ts";

let folder: string;
let address: string;
let node: Node;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "trainer-data-"));
  address = pathToFileURL(folder).href;
  mkdirSync(join(folder, "part.csv"));
  writeFileSync(join(folder, "a.csv"), "x,label\n1,0\n2,1\n");
  symlinkSync(tmpdir(), join(folder, "out"));
  node = await startNode({ threads: 1, datasetUris: [`${address}/`] });
});
afterAll(async () => {
  await node.stop();
  rmSync(folder, { recursive: true });
});

async function call(path: string, dataset: object): Promise<object> {
  const response = await fetch(node.url + path, { method: "POST", body: JSON.stringify({ dataset }) });
  return { status: response.status, body: await response.json() };
}

describe.each(["/train", "/evaluate"])("%s", (path) => {
  test.each(["", "/", "/part.csv", "/part.csv/"])("the folder %j under the prefix is refused as a folder", async (rest) => {
    for (const sha256 of [undefined, "0".repeat(64)])
      expect(await call(path, { uri: address + rest, sha256 })).toMatchObject({
        status: 422,
        body: {
          code: "VALIDATION_ERROR",
          error: "dataset.uri names a folder; name one file in it: .json, .jsonl, .csv or .npz",
          details: { form: "uri" },
        },
      });
  });

  test.each(["/none", "/out", "/..", "/../../etc"])("%j exists for no caller", async (rest) => {
    expect(await call(path, { uri: address + rest })).toMatchObject({
      status: 422,
      body: { code: "VALIDATION_ERROR", error: expect.stringContaining("names no file under a prefix"), details: { form: "uri" } },
    });
  });

  test("an npz file of images is refused, and not cut into rows of other widths", async () => {
    const x = { name: "x", dtype: "f32" as const, shape: [3, 2, 2], data: Float32Array.from({ length: 12 }, (_, index) => index) };
    const y = { name: "y", dtype: "f32" as const, shape: [3], data: Float32Array.of(0, 1, 0) };
    writeFileSync(join(folder, "images.npz"), encodeParameters([x, y], "npz"));
    expect(await call(path, { uri: `${address}/images.npz` })).toMatchObject({
      status: 422,
      body: { code: "SHAPE_MISMATCH", error: expect.stringContaining("x.reshape(len(x), -1)") },
    });
    writeFileSync(join(folder, "rows.npz"), encodeParameters([{ ...x, shape: [3, 4] }, y], "npz"));
    expect(await call(path, { uri: `${address}/rows.npz` })).toMatchObject({ status: 200 });
  });

  test("a file beside a folder is read", async () => {
    expect(await call(path, { uri: `${address}/a.csv` })).toMatchObject({ status: 200 });
  });
});
