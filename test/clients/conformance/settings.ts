import { text } from "node:stream/consumers";

/** The settings that a script in a process of its own reads from standard input. */
export interface ScriptSettings {
  readonly url: string;
  readonly baseUrl: string;
  readonly upstreamUrl: string;
  readonly key: string;
}

export async function readSettings(): Promise<ScriptSettings> {
  return JSON.parse(await text(process.stdin)) as ScriptSettings;
}

/** Runs cases one after another, with one line for each; the first line is the version of the client. */
export async function runScriptCases(version: string, cases: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  say({ version });
  for (const [id, work] of Object.entries(cases)) {
    const problem = await work().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
    );
    say(problem === undefined ? { id, ok: true } : { id, ok: false, problem });
  }
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** What the upstream got for a model. */
export async function sentTo({ upstreamUrl }: ScriptSettings, model: string): Promise<ReturnType<typeof JSON.parse>[]> {
  return (await (await fetch(`${upstreamUrl}/__requests?model=${encodeURIComponent(model)}`)).json()) as unknown[];
}
