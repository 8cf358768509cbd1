import { gwWith } from "../io-fixture.ts";

const errorOf = async (line: string) => {
  const { exit, err } = await gwWith(line.split(" "));
  const { error, hint } = JSON.parse(err);
  return { exit, error, hint };
};

test.each([
  ["kyes", "Unknown command 'kyes'.", "Did you mean keys?"],
  ["keys creat --name laptop", "gw keys has no command creat.", "Did you mean gw keys create?"],
  ["admin users updaet 7", "gw admin users has no command updaet.", "Did you mean gw admin users update?"],
  ["config sett model echo", "gw config has no command sett.", "Did you mean gw config set?"],
  ["help keys rot", "gw keys has no command rot.", "Did you mean gw keys rotate?"],
  ["keys xyz", "gw keys has no command xyz.", "List commands with gw keys --help."],
  ["keys create --nmae laptop", "Unknown option '--nmae'.", "Did you mean --name?"],
  ["open lgos", "The console has no screen lgos.", "Did you mean gw open logs?"],
])("gw %s is a usage error that says what was meant", async (line, error, hint) => {
  expect(await errorOf(line)).toEqual({ exit: 2, error, hint });
});

test("the words of a person on a terminal, not JSON", async () => {
  const { exit, err } = await gwWith(["keys", "creat"], { terminal: true });
  expect([exit, err]).toEqual([2, "error: gw keys has no command creat. (USAGE)\nhint: Did you mean gw keys create?\n"]);
});

test("help of a group is no error", async () => {
  expect((await gwWith(["auth"])).err).toContain("Usage: gw auth");
  expect(await gwWith(["keys", "create", "--help"])).toMatchObject({
    exit: 0,
    out: expect.stringContaining("\nExamples:\n  $ gw keys create"),
  });
});

test("open prints the address of a screen or record; only a terminal opens a browser", async () => {
  const env = { GW_API_URL: "https://gateway.example.org" };
  const piped = await gwWith(["open"], { env });
  expect([JSON.parse(piped.out), piped.opened]).toEqual([{ url: "https://gateway.example.org/ui/" }, []]);
  const [logs, call] = await Promise.all(["logs", "call_1m7f97skhg"].map((word) => gwWith(["open", word], { env, terminal: true })));
  expect([logs?.out, logs?.opened]).toEqual(["https://gateway.example.org/ui/logs\n", ["https://gateway.example.org/ui/logs"]]);
  expect(call?.opened).toEqual(["https://gateway.example.org/ui/logs?call=call_1m7f97skhg"]);
});

test("up runs the program of the package in place of this process, with its settings", async () => {
  const { became } = await gwWith(["up", "--port", "8080", "--data-dir", "/var/lib/tributary", "--config", import.meta.filename]);
  expect(became).toEqual([
    {
      file: process.execPath,
      words: [expect.stringMatching(/scripts\/tributary\.(ts|js)$/), "--config", import.meta.filename],
      env: expect.objectContaining({ PORT: "8080", DATA_DIR: "/var/lib/tributary" }),
    },
  ]);
  const shown = await gwWith(["up", "--port", "8080", "--data-dir", "/var/lib/tributary", "--dry-run"]);
  expect([shown.out, shown.became]).toEqual([expect.stringContaining(`PORT=8080 DATA_DIR=/var/lib/tributary ${process.execPath} `), []]);
  expect((await gwWith(["up", "--port", "99999"])).exit).toBe(2);
  expect((await errorOf("up --config /no/such/file")).error).toBe("--config: there is no file /no/such/file.");
});
