import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { System } from "../helpers/system.ts";
import type { Session } from "./session.ts";

const root = resolve(import.meta.dirname, "../..");
const launcher = join(root, "bin/gw");
const CHILD_MAX_MS = 50_000;

interface Ended {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** Tests of the real process, in a pipe and on a pseudo-terminal. */
export function terminalTests(world: () => { session: Session; system: System }): void {
  const start = (file: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    new Promise<Ended>((done) => {
      const { NO_COLOR: _off, ...inherited } = process.env;
      const options = { env: { ...inherited, ...world().session.env, TERM: "xterm", ...env }, timeout: CHILD_MAX_MS };
      const child = execFile(file, words, options, (error, out, err) => done({ exit: error === null ? 0 : Number(error.code), out, err }));
      child.stdin?.end();
    });
  const onTerminal = (steps: readonly [string, string][], words: readonly string[], env?: Readonly<Record<string, string>>) =>
    start("python3", [join(root, "test/cli/on_terminal.py"), JSON.stringify(steps), launcher, ...words], env);

  test("the launcher starts it on the right Node, data on stdout and the rest on stderr, and passes the exit code on", async () => {
    const [listed, refused] = await Promise.all([
      start(launcher, ["keys", "-q"]),
      start(launcher, ["keys", "remove", "key_nope", "--yes"]),
    ]);
    expect([listed.exit, listed.out, listed.err]).toEqual([0, expect.stringMatching(/^(key_\w+\n)+$/), ""]);
    expect([refused.exit, refused.out, JSON.parse(refused.err).code]).toEqual([6, "", "NOT_FOUND"]);
  });

  test("on a terminal: a password prompt does not echo, states have colors, and NO_COLOR removes them", async () => {
    const login = await onTerminal(
      [
        ["Email", "ada@example.org\r"],
        ["Password", "another password\r"],
      ],
      ["auth", "login"],
    );
    expect([login.exit, login.out.includes("another password")]).toEqual([0, false]);
    expect(login.out).toContain("Logged in until");
    const [colored, plain] = await Promise.all([onTerminal([], ["models"]), onTerminal([], ["models"], { NO_COLOR: "1" })]);
    expect(colored.out).toContain("\u001b[32mactive\u001b[0m");
    expect(plain.out).not.toContain("\u001b[");
  });

  test("up takes the place of gw: settings and exit code are those of the platform's program", async () => {
    const ports = { PORT: "4000", CONTROL_PORT: "4000" };
    const refused = await start(launcher, ["up"], ports);
    expect([refused.exit !== 0, refused.err]).toEqual([
      true,
      expect.stringContaining("PORT, TRAINER_PORT, CONTROL_PORT, COORDINATOR_PORT: must differ"),
    ]);
  });

  test("on a terminal: a conversation, a removal that is not confirmed, and progress while conform works", async () => {
    const [talk, declined, conform] = await Promise.all([
      onTerminal(
        [
          ["you", "hello\r"],
          ["tokens in", ""],
          ["you", "/exit\r"],
        ],
        ["chat"],
      ),
      onTerminal([["revoke key_nope?", "n\r"]], ["keys", "remove", "key_nope"]),
      onTerminal([], ["conform", world().system.url, "--only", "platform"]),
    ]);
    expect([talk.exit, talk.out]).toEqual([0, expect.stringMatching(/hello\r\n[\s\S]*1 tokens in, 1 out/)]);
    expect([declined.exit, declined.out]).toEqual([3, expect.stringContaining("Canceled. Nothing was changed.")]);
    expect([conform.exit, conform.out]).toEqual([0, expect.stringMatching(/█\S* 21\/22 \/api\/api-keys\/remove/)]);
  });

  test("completion for each shell knows the commands; bash takes it and completes", async () => {
    const { session } = world();
    const [bash, zsh, fish] = await Promise.all(["bash", "zsh", "fish"].map((shell) => session.gw(`completion ${shell}`)));
    expect([zsh?.exit, zsh?.out.startsWith("#compdef gw")]).toEqual([0, true]);
    expect(fish?.out).toContain(`complete -c gw -n 'test "$(__gw_path)" = "keys"' -f -a rotate`);
    const ask = `${bash?.out}\nCOMP_WORDS=(gw --json admin users up); COMP_CWORD=4; _gw; echo "\${COMPREPLY[*]}"`;
    expect((await start("bash", ["-c", ask])).out).toBe("update\n");
    // zsh and fish are tested only if they are installed.
    if (existsSync("/usr/bin/zsh")) expect((await start("zsh", ["-f", "-n", "-c", zsh?.out ?? ""])).err).toBe("");
    if (existsSync("/usr/bin/fish")) {
      const words = await start("fish", ["--no-config", "-c", `${fish?.out}\ncomplete -C "gw --json admin users up"`]);
      expect(words.out).toMatch(/^update\tUpdate a user's/);
    }
    expect((await session.gw("completion csh")).exit).toBe(2);
  });
}
