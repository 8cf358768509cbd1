import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "../blocks.ts";

const run = promisify(execFile);

/** One sample of /openapi.json. */
export interface Sample {
  /** Such as "post /v1/embeddings". */
  readonly operation: string;
  readonly source: string;
}

interface Place {
  readonly folder: string;
  readonly python: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Compiles each without running it; an array of what is wrong. */
const COMPILE_PYTHON = `
import json, sys
problems = []
for sample in json.load(open(sys.argv[1])):
    try:
        compile(sample["source"], sample["operation"], "exec")
    except SyntaxError as error:
        problems.append(sample["operation"] + ": " + str(error))
print(json.dumps(problems))
`;
const COMPILE_NODE = `
import { readFileSync } from "node:fs";
import { SourceTextModule } from "node:vm";
const problems = [];
for (const { operation, source } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  try {
    new SourceTextModule(source);
  } catch (error) {
    problems.push(operation + ": " + error);
  }
}
console.log(JSON.stringify(problems));
`;

/** Runs them in order in one process, because starting one for each takes longer than the calls; the output of each, or its error. */
const RUN_PYTHON = `
import contextlib, io, json, sys, traceback
results = []
for sample in json.load(open(sys.argv[1])):
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(sample["source"], sample["operation"], "exec"), {"__name__": "__main__"})
        results.append({"operation": sample["operation"], "output": output.getvalue()})
    except BaseException:
        results.append({"operation": sample["operation"], "output": output.getvalue(), "error": traceback.format_exc()})
json.dump(results, open(sys.argv[2], "w"))
`;
const RUN_NODE = `
import { readFileSync, writeFileSync } from "node:fs";
const results = [];
for (const [index, { operation, source }] of JSON.parse(readFileSync(process.argv[2], "utf8")).entries()) {
  const lines = [];
  console.log = (...parts) => lines.push(parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" "));
  writeFileSync(\`sample-\${index}.mjs\`, source);
  try {
    await import(\`\${process.cwd()}/sample-\${index}.mjs\`);
    results.push({ operation, output: lines.join("\\n") });
  } catch (error) {
    results.push({ operation, output: lines.join("\\n"), error: String(error.stack) });
  }
}
writeFileSync(process.argv[3], JSON.stringify(results));
`;

export interface SampleResult {
  readonly operation: string;
  readonly output: string;
  readonly error?: string;
}

export async function compilePython(samples: readonly Sample[], place: Place): Promise<string[]> {
  return JSON.parse(await start(place, place.python, [file(place, "compile.py", COMPILE_PYTHON), listed(place, samples)]));
}

export async function compileNode(samples: readonly Sample[], place: Place): Promise<string[]> {
  const program = file(place, "compile.mjs", COMPILE_NODE);
  return JSON.parse(await start(place, process.execPath, ["--experimental-vm-modules", "--no-warnings", program, listed(place, samples)]));
}

/** The words that a shell passes to `curl` and to `gw`, by operation, without running either. */
export async function shellWords(samples: readonly Sample[], place: Place): Promise<ReadonlyMap<string, readonly string[]>> {
  const record = `curl() { printf '%s\\1' "$@"; }\ngw() { curl "$@"; }`;
  const parts = samples.map(({ source }) => `${source.replace(/ [<>] \S+$/, "")}\nprintf '\\2'`);
  const output = await start(place, "bash", [file(place, "words.sh", ["set -eu", record, ...parts].join("\n"))]);
  const words = output.split("\u0002").map((text) => text.split("\u0001").slice(0, -1));
  return new Map(samples.map(({ operation }, index) => [operation, words[index] ?? []]));
}

export async function runPython(samples: readonly Sample[], place: Place): Promise<SampleResult[]> {
  return results(place, samples, (list, out) => start(place, place.python, [file(place, "run.py", RUN_PYTHON), list, out]));
}

export async function runNode(samples: readonly Sample[], place: Place): Promise<SampleResult[]> {
  return results(place, samples, (list, out) => start(place, process.execPath, [file(place, "run.mjs", RUN_NODE), list, out]));
}

/** A refusal fails a sample here, as it does in the other languages. */
export async function runCurl(samples: readonly Sample[], place: Place): Promise<SampleResult[]> {
  const found: SampleResult[] = [];
  for (const { operation, source } of samples) {
    const script = `curl() { command curl --fail-with-body "$@"; }\nset -e\n${source}`;
    const result = await run("bash", ["-c", script], { cwd: place.folder, env: { ...process.env, ...place.env } }).then(
      ({ stdout }) => ({ operation, output: stdout }),
      (error: { stdout?: string; message: string }) => ({ operation, output: error.stdout ?? "", error: error.message }),
    );
    found.push(result);
  }
  return found;
}

async function results(
  place: Place,
  samples: readonly Sample[],
  work: (list: string, out: string) => Promise<string>,
): Promise<SampleResult[]> {
  const out = join(place.folder, "results.json");
  await work(listed(place, samples), out);
  return JSON.parse(readFileSync(out, "utf8")) as SampleResult[];
}

function file({ folder }: Place, name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const listed = (place: Place, samples: readonly Sample[]): string => file(place, "samples.json", JSON.stringify(samples));

async function start({ folder, env, python }: Place, program: string, words: readonly string[]): Promise<string> {
  const path = [dirname(python), dirname(process.execPath), join(root, "node_modules/.bin"), process.env["PATH"]].join(":");
  const { stdout } = await run(program, words, { cwd: folder, env: { ...process.env, ...env, PATH: path }, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
