import fc from "fast-check";
import { pause, systemClock } from "./clock.ts";
import { ConfigError, countSetting, portSetting, readConfig } from "./config.ts";
import { AppError, asAppError, ERROR_CODES } from "./errors.ts";
import { newId } from "./ids.ts";
import { ignore, orElse } from "./ignore.ts";
import { jsonDepthExceeds, toJson } from "./json.ts";
import { createLogger } from "./logger.ts";
import { fromUsd, toUsdString } from "./money.ts";
import { systemRandom } from "./random.ts";

describe("money", () => {
  test("any amount of 64 bits goes to a decimal string and back unchanged", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (amount) => {
        expect(fromUsd(toUsdString(amount))).toBe(amount);
      }),
    );
  });

  test("shows at least cents and never a float", () => {
    expect([0n, 1n, 1_500_000_000n, -2_000n, 10n ** 18n].map(toUsdString)).toEqual([
      "0.00",
      "0.000000001",
      "1.50",
      "-0.000002",
      "1000000000.00",
    ]);
  });

  test("reads only plain decimals of at most nine places", () => {
    for (const bad of ["", "1e3", "0x10", "1.1234567891", " ", "--1", "1,5", "NaN", "١"]) expect(fromUsd(bad)).toBeUndefined();
    expect(fromUsd(Number.NaN)).toBeUndefined();
    expect(fromUsd(1e21)).toBeUndefined();
    expect(fromUsd(0.1)).toBe(100_000_000n);
    expect([fromUsd(1e-7), fromUsd(1e-9), fromUsd(1e-10), fromUsd(100)]).toEqual([100n, 1n, undefined, 100_000_000_000n]);
  });
});

describe("JSON", () => {
  test("a bigint leaves as an integer literal, beyond what a double holds", () => {
    expect(toJson({ balance: 9007199254740993n, at: new Date(0), list: [1n] })).toBe(
      '{"balance":9007199254740993,"at":"1970-01-01T00:00:00.000Z","list":[1]}',
    );
  });

  test("depth is counted in brackets, not in strings", () => {
    expect(jsonDepthExceeds("[".repeat(64), 64)).toBe(false);
    expect(jsonDepthExceeds("[".repeat(65), 64)).toBe(true);
    expect(jsonDepthExceeds(`["${"[{".repeat(100)}\\"${"[".repeat(100)}"]`, 1)).toBe(false);
    expect(jsonDepthExceeds(`{"a":{"b":[]}}`, 2)).toBe(true);
  });
});

test("ids of one prefix do not collide and sort by the time they were made", () => {
  const at = (now: number) => newId("team", { clock: { ...systemClock, now: () => now }, random: systemRandom });
  expect(new Set(Array.from({ length: 10_000 }, () => at(5))).size).toBe(10_000);
  fc.assert(fc.property(fc.nat(2 ** 31), fc.nat(2 ** 31), (a, b) => a === b || at(a * 700) < at(b * 700) === a < b));
  expect(at(Date.UTC(2026, 10, 15))).toMatch(/^team_[0-9a-z]{33}$/);
});

test("a configuration names all its problems at once", () => {
  const shape = { PORT: portSetting(4000), COUNT_MAX: countSetting(1, { min: 1, max: 9 }) };
  expect(readConfig(shape, { PORT: "", OTHER: "x" })).toEqual({ port: 4000, countMax: 1 });
  const problems = (() => {
    try {
      readConfig(shape, { PORT: "99999", COUNT_MAX: "many" });
    } catch (error) {
      return error instanceof ConfigError ? error.problems : [];
    }
    return [];
  })();
  expect(problems).toHaveLength(2);
  expect(problems.join()).toMatch(/PORT.*COUNT/s);
});

test("what was not foreseen becomes a SERVER_ERROR whose text is for the log only", () => {
  const error = asAppError(new Error("secret path /x"));
  expect([error.code, error.message.includes("secret")]).toEqual(["SERVER_ERROR", false]);
  expect(error.internal).toContain("secret path");
  const own = new AppError("FORBIDDEN", "no");
  expect(asAppError(own)).toBe(own);
  expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length);
});

test("a logger blots out whatever is named like a secret", () => {
  const lines: string[] = [];
  const logger = createLogger("test", "debug", { write: (line: string) => void lines.push(line) });
  logger.info({ apiKey: "sk-1", body: { password: "p" }, kept: "seen" }, "x");
  expect(lines[0]).toContain("seen");
  expect(lines[0]).not.toMatch(/sk-1|"p"/);
});

test("a log line has no character that a terminal or a reader of lines acts on", () => {
  const lines: string[] = [];
  const logger = createLogger("test", "debug", { write: (line: string) => void lines.push(line) });
  const text = "a\n\r\u001b[2J\u007f\u0085\u009b2J\u2028\u2029ä€😀";
  logger.info({ text }, text);
  expect(lines[0]).toMatch(/^[ -~ä€😀]+\n$/u);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ text, msg: text });
});

test("an ignored failure is gone, a fallback takes its place, and a pause ends early by its signal alone", async () => {
  await expect(ignore(Promise.reject(new Error("x")), "a test")).resolves.toBeUndefined();
  await expect(ignore(undefined, "a test")).resolves.toBeUndefined();
  await expect(orElse(Promise.reject(new Error("x")), 7, "a test")).resolves.toBe(7);
  await expect(orElse(Promise.resolve(1), 7, "a test")).resolves.toBe(1);
  await expect(pause(systemClock, 60_000, AbortSignal.abort())).resolves.toBeUndefined();
  const broken = { sleep: () => Promise.reject(new Error("no time")) };
  await expect(pause(broken, 1)).rejects.toThrow("no time");
});
