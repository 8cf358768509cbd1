import type { Finding, SourceFile } from "./finding.ts";

const LINES_MAX = 500;
const TEST_LINES_MAX = 800;
/** Beyond this a file has to give its reason in LONG_FILES. */
const LINES_WITHOUT_REASON_MAX = 300;

/** Main loops attract everything, so they stay below the limit that other files may pass with a reason. */
const MAIN_LOOPS: readonly string[] = [
  "control-plane/writes/settle.ts",
  "gateway-edge/calls/inference/attempt.ts",
  "gateway-edge/calls/inference/meter.ts",
  "gateway-edge/calls/inference/run-inference.ts",
  "trainer-node/coordinator/coordinator.ts",
  "trainer-node/coordinator/run-federation.ts",
  "trainer-node/coordinator/run-round.ts",
  "trainer-node/pool/pool.ts",
];

/** Every source file above 300 lines, and why it is not two. */
export const LONG_FILES: Readonly<Record<string, string>> = {
  "control-plane/domain/records.ts": "the records of the store, one interface each: a list, not logic",
  "control-plane/services/catalog/service.ts": "one gRPC service; each method is a few lines over writes and messages",
  "gateway-edge/credit/journal/writer.ts": "one class around one file handle; its state may not be shared",
  "gateway-edge/schemas/records.ts": "the response schemas of the platform API: a list, not logic",
  "gateway-edge/upstream/providers/provider.ts": "the provider port: types and their documentation in one place",
  "gateway-edge/upstream/routing/route-run.ts": "the state of one call's attempts, which only its own methods may change",
  "proto/tributary/access/v1/access.proto": "one service of the wire contract",
  "proto/tributary/identity/v1/identity.proto": "one service of the wire contract",
  "proto/tributary/training/v1/training.proto": "one service of the wire contract",
  "trainer-node/compute/kernels/wasm-source.ts": "the source text of one WebAssembly module",
};

/** What one file's length says; `isTest` files have a higher limit and need no reason. */
export function sizeFindings({ path, text }: SourceFile, isTest: boolean): Finding[] {
  const lines = lineCount(text);
  const limit = isTest ? TEST_LINES_MAX : MAIN_LOOPS.includes(path) ? LINES_WITHOUT_REASON_MAX : LINES_MAX;
  if (lines > limit) return [{ file: path, line: limit + 1, message: `${lines} lines, the limit is ${limit}` }];
  if (isTest) return [];
  if (lines > LINES_WITHOUT_REASON_MAX && LONG_FILES[path] === undefined)
    return [{ file: path, line: LINES_WITHOUT_REASON_MAX + 1, message: `${lines} lines: split it, or give the reason in LONG_FILES` }];
  if (lines <= LINES_WITHOUT_REASON_MAX && LONG_FILES[path] !== undefined)
    return [{ file: path, line: 1, message: `${lines} lines: LONG_FILES lists it, and need not` }];
  return [];
}

/** A list that names a missing file guards nothing. */
export function listFindings(exists: (path: string) => boolean, others: readonly string[] = []): Finding[] {
  const listed = [...MAIN_LOOPS, ...Object.keys(LONG_FILES), ...others];
  return listed
    .filter((path) => !exists(path))
    .map((path) => ({ file: "scripts/tidy.ts", line: 1, message: `a rule lists ${path}, which does not exist` }));
}

const lineCount = (text: string) => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
