import { systemDisk } from "../../common/disk.ts";
import type { Planes } from "../access/planes.ts";
import type { EdgeDeps } from "../deps.ts";
import type { Credit } from "./credit.ts";
import { openJournal } from "./journal/open-journal.ts";
import { LeasedCredit } from "./leased-credit.ts";

/** Leases and the journal, in a folder that belongs to this edge alone. */
export async function openCredit(
  { config, control, clock, logger }: EdgeDeps,
  edgeId: string,
  owners?: Pick<Planes, "access" | "laneOf" | "division">,
): Promise<Credit> {
  const journal = await openJournal({
    disk: systemDisk,
    folder: config.journalFolder,
    edgeId,
    sync: config.journalSync,
    clock,
    logger,
    // It is no longer known what is durable; the next process reads what is on disk.
    onBroken: (error) => {
      logger.error({ error: String(error) }, "the journal is broken");
      process.exit(1);
    },
  });
  return new LeasedCredit({ access: (owners ?? control).access, owners, journal, clock, logger, edgeId });
}
