import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** Whether a password is one of the 10,000 that people use most, in any case of letters. */
export type IsCommonPassword = (password: string) => boolean;

/** Reads the list beside this file. Its lines that begin with # name the source. */
export function loadCommonPasswords(): IsCommonPassword {
  const text = gunzipSync(readFileSync(join(import.meta.dirname, "common-passwords.txt.gz"))).toString("utf8");
  const common = new Set(text.split("\n").filter((line) => line !== "" && !line.startsWith("#")));
  return (password) => common.has(password.normalize("NFKC").toLowerCase());
}
