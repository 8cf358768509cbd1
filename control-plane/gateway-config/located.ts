import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Document as YamlDocument } from "yaml";

export interface SourcePosition {
  readonly file: string;
  readonly line: number;
}

/** A YAML value with its position, so that problems can be reported with file and line. */
export type Located =
  | { readonly kind: "map"; readonly at: SourcePosition; readonly entries: ReadonlyMap<string, LocatedEntry> }
  | { readonly kind: "list"; readonly at: SourcePosition; readonly items: readonly Located[] }
  | { readonly kind: "scalar"; readonly at: SourcePosition; readonly value: Scalar };
export type LocatedMap = Extract<Located, { kind: "map" }>;
export type Scalar = string | number | boolean | null;

export interface LocatedEntry {
  readonly keyAt: SourcePosition;
  readonly node: Located;
}

interface ConfigIssue {
  readonly at: SourcePosition;
  readonly message: string;
}

/** Problems and warnings of a configuration, sorted by file and line. */
export class ConfigIssues {
  readonly #problems: ConfigIssue[] = [];
  readonly #warnings: ConfigIssue[] = [];

  problem(at: SourcePosition, message: string): void {
    this.#problems.push({ at, message });
  }

  warn(at: SourcePosition, message: string): void {
    this.#warnings.push({ at, message });
  }

  get problemCount(): number {
    return this.#problems.length;
  }

  /** The problems as they were found. */
  get found(): readonly ConfigIssue[] {
    return this.#problems;
  }

  get problems(): string[] {
    return inOrder(this.#problems);
  }

  get warnings(): string[] {
    return inOrder(this.#warnings);
  }
}

function inOrder(issues: readonly ConfigIssue[]): string[] {
  const byFile = Map.groupBy(issues, ({ at }) => at.file);
  const sorted = [...byFile.values()].flatMap((own) => own.toSorted((left, right) => left.at.line - right.at.line));
  return sorted.map(({ at, message }) => `${at.file}:${at.line}: ${message}`);
}

const NODES_MAX = 200_000;
const DEPTH_MAX = 64;

/** Parses YAML 1.1, as LiteLLM does: `on` and `yes` are booleans, `<<` merges. Returns undefined if the text cannot be used. */
export function parseLocated(file: string, text: string, issues: ConfigIssues): LocatedMap | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: "1.1", lineCounter: lines, prettyErrors: false, stringKeys: false });
  for (const error of document.errors) {
    issues.problem({ file, line: lines.linePos(error.pos[0]).line }, `is not YAML: ${error.message}`);
  }
  if (document.errors.length > 0) return undefined;
  const root = new YamlReader({ file, document, lines, issues }).read(document.contents, 0);
  if (root.kind === "map") return root;
  if (root.kind === "scalar" && root.value === null) return { kind: "map", at: root.at, entries: new Map() };
  issues.problem(root.at, "must be a map of sections (model_list, litellm_settings, ...)");
  return undefined;
}

class YamlReader {
  readonly #source: { file: string; document: YamlDocument; lines: LineCounter; issues: ConfigIssues };
  #count = 0;

  constructor(source: { file: string; document: YamlDocument; lines: LineCounter; issues: ConfigIssues }) {
    this.#source = source;
  }

  read(node: unknown, depth: number): Located {
    const at = this.#at(node);
    // Anchors can expand a small file without bound.
    if (++this.#count > NODES_MAX || depth > DEPTH_MAX) {
      if (this.#count === NODES_MAX + 1 || depth === DEPTH_MAX + 1) this.#source.issues.problem(at, "is nested too deep or too large");
      return { kind: "scalar", at, value: null };
    }
    if (isAlias(node)) return this.read(node.resolve(this.#source.document), depth + 1);
    if (isMap(node)) return { kind: "map", at, entries: this.#entries(node.items, depth) };
    if (isSeq(node)) return { kind: "list", at, items: node.items.map((item) => this.read(item, depth + 1)) };
    return { kind: "scalar", at, value: this.#scalar(node, at) };
  }

  #entries(pairs: readonly Pair[], depth: number): Map<string, LocatedEntry> {
    const own = new Map<string, LocatedEntry>();
    const merged = new Map<string, LocatedEntry>();
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(typeof key.value === "symbol" ? key.source : key.value) : String(key);
      const node = this.read(value, depth + 1);
      if (name === "<<") for (const [inherited, entry] of mergedEntries(node)) merged.set(inherited, entry);
      else own.set(name, { keyAt: this.#at(key), node });
    }
    for (const [name, entry] of merged) if (!own.has(name)) own.set(name, entry);
    return own;
  }

  #scalar(node: unknown, at: SourcePosition): Scalar {
    if (!isScalar(node)) return null;
    const { value } = node;
    if (value === null || value === undefined) return null;
    // LiteLLM's parser reads yes, no, on and off as booleans, but not y and n.
    if (typeof value === "boolean" && node.source?.length === 1) return node.source;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
    // A date without quotes, such as an api_version, is meant as text.
    if (value instanceof Date && node.source !== undefined) return node.source;
    this.#source.issues.problem(at, "must be a string, number, true, false or null");
    return null;
  }

  #at(node: unknown): SourcePosition {
    const offset = (node as Node | null)?.range?.[0] ?? 0;
    return { file: this.#source.file, line: this.#source.lines.linePos(offset).line || 1 };
  }
}

function mergedEntries(node: Located): [string, LocatedEntry][] {
  if (node.kind === "map") return [...node.entries];
  // Of several merged maps, the first wins.
  return node.kind === "list" ? node.items.toReversed().flatMap(mergedEntries) : [];
}

/** The value without positions; `resolve` may replace scalars. */
export function plain(node: Located, resolve: (scalar: { at: SourcePosition; value: Scalar }) => Scalar = ({ value }) => value): unknown {
  switch (node.kind) {
    case "scalar":
      return resolve(node);
    case "list":
      return node.items.map((item) => plain(item, resolve));
    case "map":
      return Object.fromEntries([...node.entries].map(([name, entry]) => [name, plain(entry.node, resolve)]));
  }
}

/** A JSON value in place of a file: each position's `file` is the path of the value, such as `body.settings.words`. */
export function locate(value: unknown, path: string): Located {
  const at = { file: path, line: 0 };
  if (Array.isArray(value)) return { kind: "list", at, items: value.map((item) => locate(item, path)) };
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([name, own]) => [name, { keyAt: at, node: locate(own, `${path}.${name}`) }] as const);
    return { kind: "map", at, entries: new Map(entries) };
  }
  return { kind: "scalar", at, value: value as Scalar };
}
