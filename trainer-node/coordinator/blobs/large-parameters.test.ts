import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { silentLogger } from "../../../common/logger.ts";
import { errorResponse } from "../../http/error-response.ts";
import { type RunningServer, startServer } from "../../server.ts";
import { openBlobFolder } from "./blob-folder.ts";
import { parametersRoutes } from "./parameters-route.ts";

/** More than Node reads at once. */
const BYTES = 2_200_000_000;
const SHA256 = "ab".repeat(32);

let folder: string;
let server: RunningServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-large-parameters-"));
  // A zip archive, as npz files are. The zeros take no room on the disk.
  writeFileSync(join(folder, SHA256), "PK\x03\x04", "latin1");
  truncateSync(join(folder, SHA256), BYTES);
  const app = express().use(parametersRoutes(openBlobFolder({ folder, bytesMax: 1000 })), errorResponse(silentLogger));
  server = await startServer(app, { host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const headOf = (query: string) => fetch(`http://127.0.0.1:${server.port}/v1/blobs/${SHA256}/parameters${query}`, { method: "HEAD" });

test.each(["safetensors", "npz"])("parameters that are too large to be converted to %s are a 413", async (format) => {
  expect((await headOf(`?format=${format}`)).status).toBe(413);
});

test.each(["", "?format=raw"])("and are downloaded as they are stored (%j)", async (query) => {
  const { status, headers } = await headOf(query);
  expect([status, headers.get("x-parameters-format"), headers.get("content-length")]).toEqual([200, "raw", `${BYTES}`]);
});
