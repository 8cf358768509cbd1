import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Comparison, type Recording, replayAll } from "./replay.ts";

// Recorded answers of real providers behind the gateway, compared by each of its APIs: `make test-recordings RECORDINGS=<folder>`.
const folder = process.env["RECORDINGS"];
const NO_FOLDER = "all (RECORDINGS names no folder with *.jsonl; the repository has no recordings, because they are data of others)";
const REPLAY_MS = 300_000;
const FAILURES_SHOWN = 20;

const recordings = folder ? readAll(folder) : [];
const providers = [...new Set(recordings.map(({ provider }) => provider))].toSorted();
const withRecordings = folder ? test : test.skip;
const lines: string[] = [];
afterAll(() => process.stdout.write(lines.map((line) => `${line}\n`).join("")));

withRecordings.each(folder ? providers : [NO_FOLDER])(
  "%s",
  async (provider) => {
    const comparisons: Comparison[] = [];
    const own = recordings.filter((recording) => recording.provider === provider);
    for await (const comparison of replayAll(own)) comparisons.push(comparison);
    const failures = comparisons.flatMap(({ recording, api, difference }) =>
      difference === undefined ? [] : [`${recording.id} ${api}: ${difference}`],
    );
    const passed = comparisons.length - failures.length;
    lines.push(`${provider}: ${own.length} recordings, ${passed} comparisons passed, ${failures.length} failed`);
    expect(failures.slice(0, FAILURES_SHOWN)).toEqual([]);
  },
  REPLAY_MS,
);

function readAll(from: string): Recording[] {
  return readdirSync(from)
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .flatMap((name) => readFileSync(join(from, name), "utf8").split("\n"))
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as Recording);
}
