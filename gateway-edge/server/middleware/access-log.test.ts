import { ConfigError, readConfig } from "../../../common/config.ts";
import { silentLogger } from "../../../common/logger.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import type { CallResponse } from "../../calls/http-exchange.ts";
import { accessLogSetting, createAccessLog } from "./access-log.ts";

interface Line {
  readonly [name: string]: unknown;
}

const ANSWER = { status: 200, durationMs: 1.26, route: "/v1/chat/completions" };

function open(setting: string | undefined) {
  const { rule } = readConfig({ RULE: accessLogSetting }, { RULE: setting });
  const clock = fakeClock();
  const lines: Line[] = [];
  let drawn = 0;
  // Every fourth draw is small.
  const random = { bytes: (count: number) => Buffer.alloc(count, drawn++ % 4 === 0 ? 0 : 255) };
  const logger = { ...silentLogger, info: (fields: object) => void lines.push(fields as Line) };
  const log = createAccessLog(rule, { logger, clock, random });
  const answered = (locals: object = {}, url = "/v1/chat/completions?key=sk-secret") =>
    log?.answered({ method: "POST", url, headers: {} }, { locals, getHeader: () => "req_1" } as unknown as CallResponse, ANSWER);
  return { log, lines, clock, answered };
}

test("a line has the ids of its request and call, and neither query nor content", () => {
  const { lines, answered } = open(undefined);
  const caller = { organizationId: "org_1", keyId: "key_1", maskedKey: "sk-…1" };
  answered({ callId: "call_1", traceId: "abc", caller, body: { model: "m".repeat(300), messages: ["a prompt"] } });
  answered({}, "/api/gw/teams");
  expect(lines).toEqual([
    {
      requestId: "req_1",
      method: "POST",
      path: "/v1/chat/completions",
      route: "/v1/chat/completions",
      status: 200,
      durationMs: 1.3,
      callId: "call_1",
      traceId: "abc",
      organizationId: "org_1",
      keyId: "key_1",
      model: "m".repeat(100),
    },
    expect.objectContaining({ path: "/api/gw/teams" }),
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/sk-|a prompt/);
});

test("by default a second has 20 lines; the next line says how many were left out", async () => {
  const { log, lines, clock, answered } = open(undefined);
  for (let call = 0; call < 100; call++) answered();
  expect([lines.length, log?.leftOut()]).toEqual([20, 80]);
  expect(lines.some((line) => "leftOut" in line)).toBe(false);
  await clock.advance(1000);
  answered();
  answered();
  expect(lines.slice(20).map(({ leftOut }) => leftOut)).toEqual([80, undefined]);
  expect(log?.leftOut()).toBe(80);
});

test("all, a share, and off", () => {
  const counts = ["all", "1", "0.25", "0", "off"].map((setting) => {
    const { lines, log, answered } = open(setting);
    for (let call = 0; call < 400; call++) answered();
    return [lines.length, log?.leftOut()];
  });
  expect(counts).toEqual([
    [400, 0],
    [400, 0],
    [100, 300],
    [0, 400],
    [0, undefined],
  ]);
});

test("probes and scrapes have no line, and are not counted as left out", () => {
  const { log, lines, answered } = open("all");
  for (const url of ["/health", "/health/readiness", "/metrics"]) answered({}, url);
  answered({}, "/healthy");
  expect([lines.length, log?.leftOut()]).toEqual([1, 0]);
});

test.each(["some", "2", "-1", "1e400"])("ACCESS_LOG=%s is refused with what it may be", (setting) => {
  expect(() => open(setting)).toThrow(ConfigError);
  expect(() => open(setting)).toThrow("RULE: must be auto, all, off, or a share from 0 to 1");
});
