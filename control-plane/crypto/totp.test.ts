import { systemRandom } from "../../common/random.ts";
import { isTotpCode, newRecoveryCodes, RECOVERY_CODES, recoveryText } from "../domain/second-factor.ts";
import { newTotpSecret, otpauthUrl, stepOfCode } from "./totp.ts";

/** "12345678901234567890" in Base32, the secret of the test vectors of RFC 6238. */
const RFC_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

test.each([
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
])("at %d s the code of RFC 6238 is right, grouped or not", (seconds, code) => {
  const step = Math.floor(seconds / 30);
  expect(stepOfCode(RFC_SECRET, code, seconds * 1000)).toBe(step);
  expect(stepOfCode(RFC_SECRET, `${code.slice(0, 3)} ${code.slice(3)}`, seconds * 1000)).toBe(step);
});

test("a code is right one step before and after its own, and no further", () => {
  const [start, end] = [30_000, 59_999];
  const step = (now: number) => stepOfCode(RFC_SECRET, "287082", now);
  expect([step(start - 30_000), step(end + 30_000)]).toEqual([1, 1]);
  expect([step(end + 30_001), step(end + 300_000)]).toEqual([undefined, undefined]);
});

test.each(["", "28708", "2870822", "28708a", "２８７０８２", "287082\0", "-"])("%j is no code", (text) => {
  expect([isTotpCode(text), stepOfCode(RFC_SECRET, text, 59_000)]).toEqual([false, undefined]);
});

test("a secret has 160 random bits, and its URL names issuer and account", () => {
  const secret = newTotpSecret(systemRandom);
  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  expect(newTotpSecret(systemRandom)).not.toBe(secret);
  const url = new URL(otpauthUrl({ secret, email: "ada+work@example.org" }));
  expect([url.protocol, url.host, decodeURIComponent(url.pathname)]).toEqual(["otpauth:", "totp", "/Tributary:ada+work@example.org"]);
  expect(Object.fromEntries(url.searchParams)).toEqual({ issuer: "Tributary", secret, algorithm: "SHA1", digits: "6", period: "30" });
});

test("recovery codes differ, look unlike a TOTP code, and are the same in any case and grouping", () => {
  const codes = newRecoveryCodes(systemRandom);
  expect(new Set(codes).size).toBe(RECOVERY_CODES);
  for (const code of codes) {
    expect(code).toMatch(/^[2-9a-hj-np-z]{5}-[2-9a-hj-np-z]{5}$/);
    expect(isTotpCode(code)).toBe(false);
    expect(recoveryText(7, ` ${code.toUpperCase().replace("-", " ")}`)).toBe(recoveryText(7, code));
    expect(recoveryText(8, code)).not.toBe(recoveryText(7, code));
  }
});
