/** How a language writes the values of JSON. */
interface Notation {
  readonly constants: Readonly<Record<"true" | "false" | "null", string>>;
  readonly name: (key: string) => string;
  /** Inside braces on one line. */
  readonly space: string;
}

const QUOTED = (key: string): string => JSON.stringify(key);
const PYTHON: Notation = { constants: { true: "True", false: "False", null: "None" }, name: QUOTED, space: "" };
const JAVASCRIPT: Notation = {
  constants: { true: "true", false: "false", null: "null" },
  name: (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : QUOTED(key)),
  space: " ",
};

const LINE_LENGTH_MAX = 100;

export const pythonLiteral = (value: unknown, indent = ""): string => literal(PYTHON, value, indent);
export const javascriptLiteral = (value: unknown, indent = ""): string => literal(JAVASCRIPT, value, indent);

/** On one line if it fits, otherwise with a line per entry. */
function literal(notation: Notation, value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return scalar(notation, value);
  const deeper = `${indent}    `;
  const entries = Array.isArray(value)
    ? value.map((inner) => literal(notation, inner, deeper))
    : Object.entries(value).map(([key, inner]) => `${notation.name(key)}: ${literal(notation, inner, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return open + close;
  const space = Array.isArray(value) ? "" : notation.space;
  const line = `${open}${space}${entries.join(", ")}${space}${close}`;
  if (indent.length + line.length <= LINE_LENGTH_MAX && !line.includes("\n")) return line;
  return `${open}\n${entries.map((entry) => `${deeper}${entry},\n`).join("")}${indent}${close}`;
}

function scalar({ constants }: Notation, value: unknown): string {
  const text = JSON.stringify(value);
  return text === "true" || text === "false" || text === "null" ? constants[text] : text;
}

/** A word of a shell, in single quotes. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
