import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRandom as random } from "../random.ts";
import { acceptedTokens, presentedToken } from "./control-token.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-control-token-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const unset = { controlToken: undefined, secretKey: undefined };
const newFolder = () => mkdtempSync(join(folder, "data-"));

test("without settings, processes of one data folder agree on a token, whichever starts first; nobody else can read it", () => {
  const dataDir = newFolder();
  const presented = presentedToken({ ...unset, dataDir }, random);
  expect(presented).toMatch(/^[0-9a-f]{64}$/);
  expect(acceptedTokens({ ...unset, dataDir }, random)).toEqual([presented]);
  expect(presentedToken({ ...unset, dataDir }, random)).toBe(presented);
  expect(readdirSync(dataDir)).toEqual(["control-token"]);
  expect(statSync(join(dataDir, "control-token")).mode & 0o777).toBe(0o600);
  expect(presentedToken({ ...unset, dataDir: newFolder() }, random)).not.toBe(presented);
});

test("with SECRET_KEY, processes of different folders agree, and one that has only the folder is accepted too", () => {
  const [mine, other] = [newFolder(), newFolder()];
  const secretKey = "s".repeat(32);
  const accepted = acceptedTokens({ ...unset, secretKey, dataDir: mine }, random);
  expect(accepted).toContain(presentedToken({ ...unset, secretKey, dataDir: other }, random));
  expect(accepted).toContain(presentedToken({ ...unset, dataDir: mine }, random));
  expect(accepted).not.toContain(presentedToken({ ...unset, secretKey: "t".repeat(32), dataDir: other }, random));
  expect(accepted.join()).not.toContain(secretKey);
});

test("during a rotation of SECRET_KEY, processes with the previous one are accepted too", () => {
  const [secretKey, secretKeyPrevious] = ["n".repeat(32), "p".repeat(32)];
  const accepted = acceptedTokens({ ...unset, secretKey, secretKeyPrevious, dataDir: newFolder() }, random);
  for (const presented of [secretKey, secretKeyPrevious]) {
    expect(accepted).toContain(presentedToken({ ...unset, secretKey: presented, dataDir: newFolder() }, random));
  }
});

test("CONTROL_TOKEN alone counts where it is set", () => {
  const set = { controlToken: "a token of 16 or more", secretKey: "s".repeat(32), dataDir: newFolder() };
  expect([presentedToken(set, random), acceptedTokens(set, random)]).toEqual([set.controlToken, [set.controlToken]]);
  expect(readdirSync(set.dataDir)).toEqual([]);
});
