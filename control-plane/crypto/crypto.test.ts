import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT, UnsecuredJWT } from "jose";
import { systemClock } from "../../common/clock.ts";
import { systemRandom } from "../../common/random.ts";
import { loadCommonPasswords } from "./common-passwords.ts";
import { createPasswords } from "./passwords.ts";
import { loadRootSecret } from "./root-secret.ts";
import { deriveSecrets } from "./secrets.ts";
import { createTokens } from "./tokens.ts";

const secrets = deriveSecrets(Buffer.from("a root secret"), systemRandom);

test("a password is stored as argon2id with OWASP's cost, and only the same password verifies", async () => {
  const passwords = createPasswords(systemRandom);
  const stored = await passwords.hash("correct horse");
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]+\$[^$]+$/);
  expect(await passwords.hash("correct horse")).not.toBe(stored);
  expect(await passwords.verify("correct horse", stored)).toBe(true);
  expect(await passwords.verify("correct horsf", stored)).toBe(false);
  expect(await passwords.verify("correct horse", undefined)).toBe(false);
});

test("a flood of hashes is refused rather than queued without end", async () => {
  const passwords = createPasswords(systemRandom);
  const outcomes = await Promise.allSettled(Array.from({ length: 300 }, () => passwords.hash("x")));
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  expect(refused.length).toBe(300 - 8 - 256);
  expect(refused[0]).toMatchObject({ reason: { code: "LOGIN_THROTTLED" } });
}, 60_000);

test("the common passwords of eight characters and more are known in any case of letters, and nothing else is", () => {
  const isCommon = loadCommonPasswords();
  for (const common of ["password", "12345678", "PassWord1", "qwertyuiop", "iloveyou", "11111111"]) expect(isCommon(common)).toBe(true);
  for (const other of ["", "#", "# From", "a few words in a row", "12345678 "]) expect(isCommon(other)).toBe(false);
});

test("what is sealed opens with the same secret only, and not after a change of one byte", () => {
  const sealed = secrets.seal(Buffer.from("provider key"));
  expect(secrets.open(sealed).toString()).toBe("provider key");
  expect(Buffer.from(sealed, "base64").includes("provider key")).toBe(false);
  expect(() => deriveSecrets(Buffer.from("another"), systemRandom).open(sealed)).toThrow();
  const bytes = Buffer.from(sealed, "base64");
  for (const index of [0, 12, 28, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    expect(() => secrets.open(changed.toString("base64"))).toThrow();
  }
});

test("a token is read back; a forged, unsigned, foreign, wrongly typed or expired one is refused", async () => {
  const tokens = createTokens(secrets, systemClock);
  const { token, expiresAt } = await tokens.sign({ sessionId: "ses_1", userId: 7, generation: 3 });
  expect(await tokens.verify(token)).toEqual({ sessionId: "ses_1", userId: 7, generation: 3 });
  expect(expiresAt - systemClock.now()).toBeGreaterThan(3_590_000);
  const sign = (change: (draft: SignJWT) => SignJWT, header = { alg: "HS256", typ: "JWT" }, key: Uint8Array = secrets.jwtKeys[0]) =>
    change(
      new SignJWT({ sid: "ses_1" })
        .setProtectedHeader(header)
        .setIssuer("tributary")
        .setAudience("tributary-platform")
        .setSubject("7")
        .setNotBefore(1)
        .setExpirationTime("1h"),
    ).sign(key);
  const same = (draft: SignJWT) => draft;
  expect(await tokens.verify(await sign(same))).toEqual({ sessionId: "ses_1", userId: 7, generation: 0 });
  const forged = [
    await sign(same, { alg: "HS512", typ: "JWT" }),
    await sign(same, { alg: "HS256", typ: "at+jwt" }),
    await sign(same, { alg: "HS256", typ: "JWT" }, Buffer.from("x".repeat(32))),
    await sign((draft) => draft.setIssuer("evil")),
    await sign((draft) => draft.setAudience("other")),
    await sign((draft) => draft.setExpirationTime(100)),
    await sign((draft) => draft.setNotBefore("1h")),
    new UnsecuredJWT({ sid: "ses_1", sub: "7" }).setIssuer("tributary").setAudience("tributary-platform").setExpirationTime("1h").encode(),
    `${token.slice(0, -4)}AAAA`,
    "a.b.c",
    "",
  ];
  for (const bad of forged) await expect(tokens.verify(bad)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});

test("the made-up root secret is made once, for the owner's eyes only", () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-secret-"));
  const first = loadRootSecret({ given: undefined, folder, random: systemRandom });
  expect(loadRootSecret({ given: undefined, folder, random: systemRandom }).equals(first)).toBe(true);
  expect(statSync(join(folder, "secret.key")).mode & 0o077).toBe(0);
  expect(readFileSync(join(folder, "secret.key"), "utf8").trim().length).toBe(64);
  expect(loadRootSecret({ given: "chosen by the operator, long enough", folder, random: systemRandom }).toString()).toContain("chosen");
  rmSync(folder, { recursive: true });
});
