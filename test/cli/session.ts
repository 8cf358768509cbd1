import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandTree, everyNode } from "../../cli/commands/command-tree.ts";
import { type FakeIoOptions, fakeIo, gwWith, type Outcome } from "../../cli/io-fixture.ts";
import { buildProgram } from "../../cli/program.ts";

/** Runs commands with a separate settings folder, and records which commands were used. */
export interface Session {
  gw(line: string | readonly string[], options?: FakeIoOptions): Promise<Outcome>;
  /** Runs a command and parses its JSON; throws unless it exits with 0. */
  json(line: string | readonly string[], options?: FakeIoOptions): Promise<ReturnType<typeof JSON.parse>>;
  readonly used: ReadonlySet<string>;
  readonly env: Readonly<Record<string, string>>;
  close(): void;
}

const nodes = everyNode(commandTree(buildProgram(fakeIo())));

/** Every command with an action: "keys create", not "keys". */
export const everyCommand: readonly string[] = nodes.filter(({ commands }) => commands.length === 0).map(({ path }) => path);

/** Every HTTP operation that has a command, such as "GET /api/models". */
export const everyOperation: ReadonlySet<string> = new Set(nodes.flatMap(({ operation }) => operation ?? []));

export function openSession(url: string, more: Readonly<Record<string, string>> = {}): Session {
  const folder = mkdtempSync(join(tmpdir(), "gw-test-"));
  const env = { GW_API_URL: url, XDG_CONFIG_HOME: folder, ...more };
  const used = new Set<string>();
  const gw: Session["gw"] = (line, options = {}) => {
    const words = typeof line === "string" ? line.split(" ") : line;
    note(words, used);
    return gwWith(words, { ...options, env: { ...env, ...options.env } });
  };
  return {
    gw,
    json: async (line, options) => {
      const { exit, out, err } = await gw(line, options);
      if (exit !== 0) throw new Error(`gw ${String(line)} ended with ${exit}: ${err}`);
      return JSON.parse(out);
    },
    used,
    env,
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function note(words: readonly string[], used: Set<string>): void {
  const named = words.filter((word) => !word.startsWith("-"));
  const paths = [1, 2, 3].map((length) => named.slice(0, length).join(" "));
  const found = paths.findLast((path) => everyCommand.includes(path));
  // A group without a command runs its list.
  const alone = paths.findLast((path) => everyCommand.includes(`${path} list`));
  if (found) used.add(found);
  else if (alone) used.add(`${alone} list`);
}

/** Replaces IDs and times by placeholders of the same length, so that tables keep their layout. */
export function settled(text: string): string {
  return text
    .replace(/\b(org|team|key|call|pur|model|prov|req)_[0-9a-z]{33}/g, (id, prefix: string) => `${prefix}_`.padEnd(id.length, "x"))
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/g, (time) => "2026-11-15T09:00:00.000Z".slice(0, time.length - 1).concat("Z"))
    .replace(/sk-\.\.\.\w{4}/g, "sk-...xxxx");
}
