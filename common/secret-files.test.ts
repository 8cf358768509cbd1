import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError, readConfig } from "./config.ts";
import { secretSetting, withSecretFiles } from "./secret-files.ts";

const shape = {
  MASTER_KEY: secretSetting(z.string().min(4, "must have 4 or more characters").optional().describe("A key.")),
  LOG: z.string().optional(),
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-secrets-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string): string {
  const path = join(folder, `secret-${text.length}`);
  writeFileSync(path, text);
  return path;
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(shape, environment);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
  return [];
}

test("a secret is read from its variable or from its file, without the line break at the file's end", () => {
  expect(readConfig(shape, { MASTER_KEY: "sk-1234" }).masterKey).toBe("sk-1234");
  expect(readConfig(shape, { MASTER_KEY_FILE: fileOf("sk-56789\n") }).masterKey).toBe("sk-56789");
  expect(readConfig(shape, { MASTER_KEY: "", MASTER_KEY_FILE: fileOf("two words \r\n") }).masterKey).toBe("two words ");
  expect(readConfig(shape, { MASTER_KEY_FILE: "" }).masterKey).toBeUndefined();
});

test("a secret in two places, in a file that cannot be used, or of the wrong form is a problem that names the variable and no secret", () => {
  const missing = join(folder, "missing");
  expect(problemsOf({ MASTER_KEY: "sk-1234", MASTER_KEY_FILE: missing })).toEqual([
    "MASTER_KEY, MASTER_KEY_FILE: set one of them, not both",
  ]);
  expect(problemsOf({ MASTER_KEY_FILE: missing })).toEqual([expect.stringMatching(/^MASTER_KEY_FILE: the file cannot be read: ENOENT/)]);
  expect(problemsOf({ MASTER_KEY_FILE: folder })).toEqual([expect.stringContaining("EISDIR")]);
  expect(problemsOf({ MASTER_KEY_FILE: fileOf("\n") })).toEqual([`MASTER_KEY_FILE: the file ${fileOf("\n")} is empty`]);
  expect(problemsOf({ MASTER_KEY_FILE: fileOf("abc") })).toEqual(["MASTER_KEY: must have 4 or more characters"]);
});

test("a setting that is no secret has no file", () => {
  expect(readConfig(shape, { LOG: "a", LOG_FILE: join(folder, "missing") }).log).toBe("a");
});

test("processes that are started get a secret as a variable and not the file too", () => {
  const environment = withSecretFiles(shape, { MASTER_KEY_FILE: fileOf("sk-56789\n"), OTHER_FILE: "x", PORT: "1" });
  expect(environment).toEqual({ MASTER_KEY: "sk-56789", MASTER_KEY_FILE: undefined, OTHER_FILE: "x", PORT: "1" });
});
