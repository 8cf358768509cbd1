import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ControlDeps } from "../services/deps.ts";

/** Names of backups that this job wrote; other files in the folder stay. */
const NAME = /^tributary-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)Z\.tar\.gz$/;
const HOUR_MS = 3_600_000;

type Deps = Pick<ControlDeps, "backups" | "logger"> & {
  readonly config: Pick<ControlDeps["config"], "backupDir" | "backupHours" | "backupsKept">;
};

/** Writes a backup if the newest one in BACKUP_DIR is old enough, also if it is from before a restart, and removes old ones. */
export async function backUpWhenDue(now: number, { config, backups, logger }: Deps): Promise<void> {
  const { backupDir: folder, backupHours, backupsKept } = config;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const [newest] = await backupsIn(folder);
  backups.newestAt = newest?.at;
  if (newest !== undefined && now < newest.at + backupHours * HOUR_MS) return;
  const file = join(folder, nameAt(now));
  const bytes = await writeWhole(file, backups.archive());
  backups.newestAt = now;
  logger.info({ file, bytes }, "wrote a backup");
  for (const { name } of (await backupsIn(folder)).slice(backupsKept)) await rm(join(folder, name));
}

const nameAt = (now: number): string => `tributary-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}Z.tar.gz`;

/** Newest first. */
async function backupsIn(folder: string): Promise<{ name: string; at: number }[]> {
  const names = (await readdir(folder)).sort().reverse();
  return names.flatMap((name) => {
    const [, hour, minutes, seconds] = NAME.exec(name) ?? [];
    return hour === undefined ? [] : [{ name, at: Date.parse(`${hour}:${minutes}:${seconds}Z`) }];
  });
}

/** The file gets its name when it is complete and on disk. A part that a killed process left is overwritten by the next backup. */
async function writeWhole(path: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  const partial = join(dirname(path), "tributary.partial");
  const file = await open(partial, "w", 0o600);
  let bytes = 0;
  try {
    for await (const chunk of content) {
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
    await file.sync();
    await rename(partial, path);
    return bytes;
  } catch (thrown) {
    await rm(partial, { force: true });
    throw thrown;
  } finally {
    await file.close();
  }
}
