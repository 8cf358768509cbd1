import { type FakeServer, startFakeServer } from "../http/server-fixture.ts";
import { gwWith } from "../io-fixture.ts";

let server: FakeServer;
beforeEach(async () => {
  server = await startFakeServer(({ url }) =>
    url?.startsWith("/v1/prompts/") ? { body: { id: "pmpt_1" } } : { body: { data: [{ id: "pmpt_1", name: "hi" }, { id: "pmpt_2" }] } },
  );
});
afterEach(() => server.stop());

const env = () => ({ GW_API_URL: server.url, GW_API_KEY: "sk-test", GW_TOKEN: "token" });

test("a prompt is chosen from as many as a page can have, which the gateway's lists call a limit", async () => {
  const { exit } = await gwWith(["prompts", "show"], { env: env(), terminal: true, answers: ["hi"] });
  expect([exit, server.requests]).toEqual([0, ["GET /v1/prompts?limit=100", "GET /v1/prompts/pmpt_1"]]);
});

test.each(["prompts list --all", "prompts versions pmpt_1 --all", "prompts --page 2"])(
  "gw %s is refused, because these lists have --limit and --after",
  async (line) => {
    expect((await gwWith(line.split(" "), { env: env() })).exit).toBe(2);
    expect(server.requests).toEqual([]);
  },
);

test.each(["prompts show", "logs explain", "keys create --name laptop"])(
  "gw %s does not ask where the question is not seen: stderr is not a terminal",
  async (line) => {
    const { exit, asked } = await gwWith(line.split(" "), { env: env(), terminal: true, stderrPiped: true, answers: ["hi"] });
    expect([exit, asked]).toEqual([2, []]);
  },
);
