import { z } from "zod";
import { type Clock, pause, untilBeatMs } from "../../common/clock.ts";
import { ConfigError } from "../../common/config.ts";
import type { Logger } from "../../common/logger.ts";
import { FENCED, type FileStore } from "../stores/file-store.ts";
import type { Store } from "../stores/store.ts";

/** Id of the setting of an embedded store that is handed over to MongoDB. */
const MARK = "promoted";
/** Settings of the folder alone, which are never copied. */
export const FOLDER_SETTINGS: readonly string[] = [MARK, FENCED];
const LOOK_MS = 1000;

const markSchema = z.object({
  /** The promotion that set the mark. */
  id: z.string(),
  database: z.string(),
  at: z.int(),
});

export type Mark = z.infer<typeof markSchema>;

export async function readMark(store: Pick<Store, "get">): Promise<Mark | undefined> {
  const setting = await store.get("settings", MARK);
  return setting && markSchema.parse(JSON.parse(setting.value));
}

/** Control planes see it, settle what is queued and leave the folder; no other starts on it. */
export function writeMark(store: Store, mark: Mark): Promise<void> {
  return store.transaction("settings", (tx) => tx.put("settings", { id: MARK, value: JSON.stringify(mark) }));
}

/** Control planes may use the folder again. */
export async function removeMark(store: FileStore): Promise<void> {
  await store.unfence();
  await store.transaction("settings", (tx) => tx.remove("settings", MARK));
}

/** What a control plane writes after the mark is in no copy, so that none may start. */
export async function refusePromoted(store: Pick<Store, "get">, dataDir: string): Promise<void> {
  const mark = await readMark(store);
  if (!mark) return;
  throw new ConfigError([
    `DATA_DIR: ${dataDir} was handed over to the MongoDB database ${mark.database} at ${new Date(mark.at).toISOString()}. Set MONGODB_URI. If \`gw admin promote\` did not end, run it again. ` +
      `To go back to the folder as it was then, without what was written to MongoDB since: \`gw admin promote --from ${dataDir} --cancel\`.`,
  ]);
}

interface Watch {
  readonly store: Pick<Store, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Stops the control plane as a signal would. */
  readonly end: () => void;
}

/** Looks for the mark each second. Returns the function that stops it. */
export function watchMark({ store, clock, logger, end }: Watch): () => void {
  const stop = new AbortController();
  void (async () => {
    while (!stop.signal.aborted) {
      const mark = await readMark(store).catch((error: unknown) => logger.warn({ error }, "the mark of a promotion cannot be read now"));
      if (mark && !stop.signal.aborted) {
        logger.warn({ database: mark.database }, "the folder is handed over to MongoDB by `gw admin promote`: stopping");
        return end();
      }
      await pause(clock, untilBeatMs(clock, LOOK_MS), stop.signal);
    }
  })();
  return () => stop.abort();
}
