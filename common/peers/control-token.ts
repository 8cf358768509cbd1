import { createHmac } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";
import type { Settings } from "../config.ts";
import type { Random } from "../random.ts";
import { secretSetting } from "../secret-files.ts";

/** Settings of every process that speaks gRPC. */
export const controlTokenSettings = {
  CONTROL_TOKEN: secretSetting(
    z.string().min(16, "must have 16 characters or more").optional().meta({
      description:
        "Secret that edges and coordinators of this machine present to the control plane, 16 or more characters. Unset, processes with the same `SECRET_KEY` or the same `DATA_DIR` find it by themselves. With `TLS_CERT` certificates replace it.",
      shownDefault: "made by `make run` at every start, else from `SECRET_KEY` or in `DATA_DIR`",
    }),
  ),
  SECRET_KEY: secretSetting(z.string().optional()),
};

/** The gRPC metadata that contains the token. */
export const CONTROL_TOKEN_KEY = "x-control-token";

type TokenSettings = Settings<typeof controlTokenSettings> & { readonly dataDir: string };

/** The token that a process presents to the control plane. */
export function presentedToken({ controlToken, secretKey, dataDir }: TokenSettings, random: Random): string {
  return controlToken ?? (secretKey === undefined ? tokenOfFolder(dataDir, random) : derivedToken(secretKey));
}

/** The tokens that a control plane accepts: not every edge has its SECRET_KEY or its DATA_DIR, and some still have the previous one. */
export function acceptedTokens(
  { controlToken, secretKey, secretKeyPrevious, dataDir }: TokenSettings & { readonly secretKeyPrevious?: string | undefined },
  random: Random,
): readonly string[] {
  if (controlToken !== undefined) return [controlToken];
  const secretKeys = [secretKey, secretKeyPrevious].filter((secret) => secret !== undefined);
  return [tokenOfFolder(dataDir, random), ...secretKeys.map(derivedToken)];
}

const derivedToken = (secretKey: string): string => createHmac("sha256", secretKey).update("tributary control token").digest("hex");

/** The token in the data folder. The first process creates it, whichever that is; a link makes the file appear with its content. */
function tokenOfFolder(dataDir: string, random: Random): string {
  const folder = resolve(dataDir);
  const path = join(folder, "control-token");
  const draft = `${path}.${random.bytes(8).toString("hex")}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${random.bytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  try {
    linkSync(draft, path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, "utf8").trim();
}
