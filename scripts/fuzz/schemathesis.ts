import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { adminToken, newTenant } from "../../test/helpers/api.ts";
import type { System } from "../../test/helpers/system.ts";

const run = promisify(execFile);
const VERSION = "4.32.5";
const root = resolve(import.meta.dirname, "../..");
const EXAMPLES = 20;

/** Not implemented, not available and not in time are answers; every other 5xx is a mistake of ours. */
const SETTINGS = `
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501", "503", "504"]
`;

const OPTIONS = [
  ...["--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing", "--workers", "2"],
  ...["--continue-on-failure", "--warnings", "off", "--request-timeout", "30"],
];

/** What would end the credential of the run. */
const ENDS_SESSION = "logout|/sessions|/auth/session|/auth/password|/auth/token/refresh|totp";

/** Every operation of /openapi.json with generated input, each under the credential it takes. Returns how many of the three runs failed. */
export async function fuzzApi(system: System, seed: number): Promise<number> {
  const schemathesis = await prepare();
  const [tenant, admin] = [await newTenant(system, { creditNano: 1_000_000_000_000 }), await adminToken(system)];
  const runs = [
    ["platform", "^/(api|training)/(?!admin)", `Authorization: Bearer ${tenant.token}`],
    ["administration", "^/api/admin", `Authorization: Bearer ${admin}`],
    ["inference", "^/(?!api/|training/)", `x-gw-api-key: ${tenant.key}`],
  ] as const;
  const folder = mkdtempSync(join(tmpdir(), "tributary-schemathesis-"));
  const settings = join(folder, "schemathesis.toml");
  writeFileSync(settings, SETTINGS);
  let failed = 0;
  try {
    for (const [name, paths, header] of runs) {
      const args = ["--no-color", "--config-file", settings, "run", `${system.url}/openapi.json`, "--include-path-regex", paths];
      const more = ["--exclude-path-regex", ENDS_SESSION, "-H", header, "--max-examples", String(EXAMPLES), "--seed", String(seed)];
      const output = await outputOf(schemathesis, [...args, ...more, ...OPTIONS], folder);
      const [cases = ""] = /\d+ generated.*/.exec(output) ?? [];
      // It also ends with an error when it cannot make input from a schema; that is not a mistake of the API.
      const holds = cases !== "" && !cases.includes("failure");
      if (!holds) console.log(output);
      console.log(`schemathesis on ${name}: ${holds ? "0 unintended 5xx" : "FAILED"}, ${cases}`);
      if (!holds) failed++;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return failed;
}

async function outputOf(command: string, args: readonly string[], folder: string): Promise<string> {
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  await once(child, "close");
  return output;
}

/** Made once in .cache/schemathesis. */
async function prepare(): Promise<string> {
  const folder = join(root, ".cache/schemathesis");
  const [python, command] = [join(folder, "bin/python"), join(folder, "bin/schemathesis")];
  const proof = `from importlib.metadata import version\nassert version("schemathesis") == "${VERSION}"`;
  const isThere = await run(python, ["-c", proof]).then(
    () => true,
    () => false,
  );
  if (isThere) return command;
  console.log(`making .cache/schemathesis, once`);
  await run("python3", ["-m", "venv", "--clear", folder], { timeout: 120_000 });
  await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", `schemathesis==${VERSION}`], {
    timeout: 300_000,
  });
  return command;
}
