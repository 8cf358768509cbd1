import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type S3Server, startS3Server } from "../../test/helpers/s3-server.ts";
import { systemClock as clock } from "../clock.ts";
import { openFolderObjects } from "./folder-objects.ts";
import { objectStoreContract } from "./object-store-contract.ts";
import { openS3Objects, type S3Options } from "./s3-objects.ts";

const MB = 1024 * 1024;
/** The smallest part that S3 allows. */
const partBytes = 5 * MB;
let folder = "";
let server: S3Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-shared-folder-"));
  server = await startS3Server();
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const s3 = (more: Partial<S3Options> = {}) => {
  const { bucket, endpoint, keys } = server;
  return openS3Objects({ bucket, endpoint, region: "us-east-1", prefix: "here/", keys, clock, partBytes, ...more });
};

objectStoreContract("a folder", () => openFolderObjects(folder), { largeBytes: 11 * MB });
objectStoreContract("S3", () => s3(), { largeBytes: 11 * MB });

test("a folder that cannot be read is an error, not an empty one", async () => {
  const path = join(folder, "a-file");
  writeFileSync(path, "");
  const broken = openFolderObjects(path);
  await expect(broken.size("blobs/one")).rejects.toThrow("ENOTDIR");
  await expect(broken.open("blobs/one")).rejects.toThrow("ENOTDIR");
  await expect(Array.fromAsync(broken.list("blobs/"))).rejects.toThrow("ENOTDIR");
});

test("the S3 server refuses a wrong secret key, and the error says so", async () => {
  const forged = s3({ keys: { ...server.keys, secretAccessKey: "another" } });
  await expect(forged.open("blobs/one")).rejects.toThrow(/reading blobs\/one: the S3 server answered 403: .*SignatureDoesNotMatch/s);
});

test("prefixes share a bucket without seeing each other", async () => {
  const other = s3({ prefix: "there/" });
  const content = join(folder, "content");
  writeFileSync(content, "");
  const sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  await s3().put("only/here", { path: content, bytes: 0, sha256 });
  expect(await other.size("only/here")).toBeUndefined();
});
