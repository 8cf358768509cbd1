import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Document as YamlDocument } from "yaml";

export interface Position {
  readonly file: string;
  readonly line: number;
}

/** A YAML value that knows where it was written: whatever is wrong with it can be said with file and line. */
export type Located =
  | { readonly kind: "map"; readonly at: Position; readonly entries: ReadonlyMap<string, Entry> }
  | { readonly kind: "list"; readonly at: Position; readonly items: readonly Located[] }
  | { readonly kind: "scalar"; readonly at: Position; readonly value: Scalar };
export type LocatedMap = Extract<Located, { kind: "map" }>;
export type Scalar = string | number | boolean | null;

export interface Entry {
  readonly keyAt: Position;
  readonly node: Located;
}

interface Finding {
  readonly at: Position;
  readonly message: string;
}

/** Everything that is wrong, and everything that is only worth saying; told file by file, in the order of the lines. */
export class Findings {
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  problem(at: Position, message: string): void {
    this.#problems.push({ at, message });
  }

  warn(at: Position, message: string): void {
    this.#warnings.push({ at, message });
  }

  get problemCount(): number {
    return this.#problems.length;
  }

  get problems(): string[] {
    return inOrder(this.#problems);
  }

  get warnings(): string[] {
    return inOrder(this.#warnings);
  }
}

function inOrder(findings: readonly Finding[]): string[] {
  const byFile = Map.groupBy(findings, ({ at }) => at.file);
  const sorted = [...byFile.values()].flatMap((own) => own.toSorted((left, right) => left.at.line - right.at.line));
  return sorted.map(({ at, message }) => `${at.file}:${at.line}: ${message}`);
}

const NODES_MAX = 200_000;
const DEPTH_MAX = 64;

/** Parses as YAML 1.1, because LiteLLM's reader does: `on` and `yes` are booleans, `<<` merges. Undefined when there is nothing to go on with. */
export function parseLocated(file: string, text: string, findings: Findings): LocatedMap | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: "1.1", lineCounter: lines, prettyErrors: false, stringKeys: false });
  for (const error of document.errors) {
    findings.problem({ file, line: lines.linePos(error.pos[0]).line }, `is not YAML: ${error.message}`);
  }
  if (document.errors.length > 0) return undefined;
  const root = new Reader({ file, document, lines, findings }).read(document.contents, 0);
  if (root.kind === "map") return root;
  if (root.kind === "scalar" && root.value === null) return { kind: "map", at: root.at, entries: new Map() };
  findings.problem(root.at, "must be a map of sections (model_list, litellm_settings, ...)");
  return undefined;
}

class Reader {
  readonly #source: { file: string; document: YamlDocument; lines: LineCounter; findings: Findings };
  #count = 0;

  constructor(source: { file: string; document: YamlDocument; lines: LineCounter; findings: Findings }) {
    this.#source = source;
  }

  read(node: unknown, depth: number): Located {
    const at = this.#at(node);
    // Anchors can make a small file endless.
    if (++this.#count > NODES_MAX || depth > DEPTH_MAX) {
      if (this.#count === NODES_MAX + 1 || depth === DEPTH_MAX + 1) this.#source.findings.problem(at, "is nested too deep or too large");
      return { kind: "scalar", at, value: null };
    }
    if (isAlias(node)) return this.read(node.resolve(this.#source.document), depth + 1);
    if (isMap(node)) return { kind: "map", at, entries: this.#entries(node.items, depth) };
    if (isSeq(node)) return { kind: "list", at, items: node.items.map((item) => this.read(item, depth + 1)) };
    return { kind: "scalar", at, value: this.#scalar(node, at) };
  }

  #entries(pairs: readonly Pair[], depth: number): Map<string, Entry> {
    const own = new Map<string, Entry>();
    const merged = new Map<string, Entry>();
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(typeof key.value === "symbol" ? key.source : key.value) : String(key);
      const node = this.read(value, depth + 1);
      if (name === "<<") for (const [inherited, entry] of mergedEntries(node)) merged.set(inherited, entry);
      else own.set(name, { keyAt: this.#at(key), node });
    }
    for (const [name, entry] of merged) if (!own.has(name)) own.set(name, entry);
    return own;
  }

  #scalar(node: unknown, at: Position): Scalar {
    if (!isScalar(node)) return null;
    const { value } = node;
    if (value === null || value === undefined) return null;
    // LiteLLM's reader takes yes, no, on and off for booleans, but not y and n.
    if (typeof value === "boolean" && node.source?.length === 1) return node.source;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
    // A date without quotes, such as an api_version, is meant as text.
    if (value instanceof Date && node.source !== undefined) return node.source;
    this.#source.findings.problem(at, "has a value that is no text, number, true, false or null");
    return null;
  }

  #at(node: unknown): Position {
    const offset = (node as Node | null)?.range?.[0] ?? 0;
    return { file: this.#source.file, line: this.#source.lines.linePos(offset).line || 1 };
  }
}

function mergedEntries(node: Located): [string, Entry][] {
  if (node.kind === "map") return [...node.entries];
  // Of several, the first has the last word.
  return node.kind === "list" ? node.items.toReversed().flatMap(mergedEntries) : [];
}

/** The value without its places; `resolve` may replace a scalar. */
export function plain(node: Located, resolve: (scalar: { at: Position; value: Scalar }) => Scalar = ({ value }) => value): unknown {
  switch (node.kind) {
    case "scalar":
      return resolve(node);
    case "list":
      return node.items.map((item) => plain(item, resolve));
    case "map":
      return Object.fromEntries([...node.entries].map(([name, entry]) => [name, plain(entry.node, resolve)]));
  }
}
