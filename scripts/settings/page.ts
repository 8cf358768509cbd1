import { z } from "zod";
import { fileVariable, isSecret } from "../../common/secret-files.ts";
import { PROCESSES, SETTING_NAMES } from "./processes.ts";

interface Setting {
  readonly name: string;
  /** Processes that read it. */
  readonly readBy: readonly string[];
  /** Of the process that describes it. */
  readonly schema: z.ZodType;
}

const INTRO = `# Settings

Printed from the processes' own declarations by \`node scripts/print-settings.ts\`; do not edit. Settings are environment variables. An empty
variable counts as unset. A process that finds something wrong lists every problem at once and exits with code 78. \`make run\` passes its
environment on to every process that it starts. Times are in milliseconds, sizes in bytes.

A secret has two variables: the second, \`…_FILE\`, is the path of a file that has the secret, as containers and systemd provide them; a line
break at its end is ignored. The file is read at the start. Setting both is a problem, and so is a file that is empty or cannot be read. Provider keys such as \`OPENAI_API_KEY\`, and
all variables that a configuration file names by \`os.environ/\`, can be in files in the same way: \`OPENAI_API_KEY_FILE\`. Files of provider keys are read again when they change.

**Exposed** is a deployment whose \`HOST\` or \`PUBLIC_URL\` is not loopback, that has \`TRUST_PROXY\` set, or that runs with \`NODE_ENV=production\`:
what is convenient on one's own machine and dangerous among strangers is then off until its variable is \`true\`. Every process judges by its own
environment: processes that are started apart (control plane, edges, coordinator) all need \`HOST\`, \`PUBLIC_URL\`, \`TRUST_PROXY\` and \`NODE_ENV\` as
the edges have them.

The command line \`gw\` has variables of its own: [cli.md](cli.md).
`;

/** docs/settings.md, whole. Throws where a setting has no sentence, or two. */
export function settingsPage(): string {
  const settings = [...SETTING_NAMES].sort().map(settingOf);
  const shared = settings.filter(({ readBy }) => readBy.length > 1);
  const own = Object.keys(PROCESSES).map((process) => settings.filter(({ readBy }) => readBy.length === 1 && readBy[0] === process));
  return [
    INTRO,
    "## Read by several processes\n",
    table(
      ["variable", "default", "values", "read by", "meaning"],
      shared.map((setting) => row(setting, [setting.readBy.join(", ")])),
    ),
    ...Object.keys(PROCESSES).flatMap((process, index) => [
      `\n## Of the ${process} alone\n`.replace("the `make run`", "`make run`"),
      table(
        ["variable", "default", "values", "meaning"],
        (own[index] ?? []).map((setting) => row(setting, [])),
      ),
    ]),
    "",
  ].join("\n");
}

function settingOf(name: string): Setting {
  const declared = Object.entries(PROCESSES).flatMap(([process, shape]) => {
    const schema = shape[name];
    return schema === undefined ? [] : [{ process, schema: schema as z.ZodType }];
  });
  const described = declared.filter(({ schema }) => schema.description !== undefined);
  const sentences = new Set(described.map(({ schema }) => schema.description));
  const [first] = described;
  if (first === undefined) throw new Error(`${name} has no sentence: add .describe("…") where it is declared`);
  if (sentences.size > 1) throw new Error(`${name} has two sentences: describe it in one process only`);
  return { name, readBy: declared.map(({ process }) => process), schema: first.schema };
}

function row({ name, schema }: Setting, more: readonly string[]): string[] {
  const variables = isSecret(schema) ? `\`${name}\`, \`${fileVariable(name)}\`` : `\`${name}\``;
  return [variables, shownDefault(name, schema), shownValues(schema), ...more, schema.description ?? ""];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function shownDefault(name: string, schema: z.ZodType): string {
  const shown = schema.meta()?.["shownDefault"];
  if (typeof shown === "string") return shown;
  const { default: value } = jsonSchemaOf(schema);
  if (value === undefined || value === "") return "unset";
  return typeof value === "number" ? `\`${value}\`${inUnits(name, value)}` : `\`${String(value)}\``;
}

function inUnits(name: string, value: number): string {
  if (/_MS$/.test(name) && value >= 1000) return value % 60_000 === 0 ? ` (${value / 60_000} min)` : ` (${value / 1000} s)`;
  if (/_BYTES/.test(name) && value >= MIB) return value % GIB === 0 ? ` (${value / GIB} GiB)` : ` (${value / MIB} MiB)`;
  return /_MB$/.test(name) ? " (MiB)" : "";
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

function shownValues(schema: z.ZodType): string {
  const { enum: values, type, minimum, maximum } = jsonSchemaOf(schema);
  if (values?.includes("true")) return "`true`, `false`";
  if (values) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (type !== "integer") return "text";
  return maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? `${minimum} or more` : `${minimum} to ${maximum}`;
}

const jsonSchemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
