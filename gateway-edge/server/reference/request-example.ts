import type { OperationDescription } from "../../schemas/operation-description.ts";
import type { RequestExample } from "./examples/example.ts";
import { GATEWAY_EXAMPLES } from "./examples/gateway.ts";
import { exampleId } from "./examples/ids.ts";
import { PLATFORM_EXAMPLES } from "./examples/platform.ts";
import { TRAINING_EXAMPLES } from "./examples/training.ts";

/** Examples by operation, such as "post /v1/embeddings"; one for all paths of an operation. */
export const EXAMPLES: Readonly<Record<string, RequestExample>> = { ...GATEWAY_EXAMPLES, ...PLATFORM_EXAMPLES, ...TRAINING_EXAMPLES };

const PATH_OF_MODEL = /^\/(engines|openai\/deployments)\/:model\//;

/** The path whose example and client calls other paths of the same operation share: /v1/... */
export function mainPath(path: string): string {
  if (/^\/(v1|v2|api|training)\//.test(path)) return path;
  return path.replace(PATH_OF_MODEL, "/").replace(/^\/(openai\/v1\/)?/, "/v1/");
}

/** The names of the parameters in a path. */
export function paramNames(path: string): string[] {
  return [...path.matchAll(/[:*]([A-Za-z]\w*)/g)].map(([, name = ""]) => name);
}

export function requestExample(entry: Pick<OperationDescription, "method" | "path">): RequestExample {
  const example = EXAMPLES[`${entry.method} ${entry.path}`] ?? EXAMPLES[`${entry.method} ${mainPath(entry.path)}`] ?? {};
  // A parameter without an example has its name, so that a missing example is no error of the whole document.
  const params = Object.fromEntries(
    paramNames(entry.path).map((name) => [name, example.params?.[name] ?? exampleId(entry.path, name) ?? name]),
  );
  const { model: _inPath, ...body } = example.body ?? {};
  return { ...example, params, ...(PATH_OF_MODEL.test(entry.path) ? { body } : {}) };
}
