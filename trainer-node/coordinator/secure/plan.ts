import { mkdirSync } from "node:fs";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { orElse } from "../../../common/ignore.ts";
import type { IntroductionText } from "../../privacy/wire.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import type { FederationRun } from "../deps.ts";
import type { Introduced } from "./participants.ts";

/**
 * The plan of a secure round: the participants that mask with each other. It is on disk before masked updates are requested, because a
 * coordinator that resumes must send the same requests: a node that masked one update for two groups would reveal it.
 */
export interface SecurePlan {
  readonly round: string;
  readonly everybody: readonly IntroductionText[];
  readonly threshold: number;
  readonly range: number;
  readonly layout: Introduced["layout"];
  /** The weights of the mean, by participant. */
  readonly weights: Readonly<Record<string, number>>;
  /** The samples that participants reported, by which they are paid. */
  readonly samples: Readonly<Record<string, number>>;
  /** Participants whose shares arrived. */
  readonly partners: readonly string[];
  /** Sealed shares, by sender and receiver. */
  readonly shares: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

type Attempt = Pick<FederationRun, "federation" | "openedAt">;

/**
 * The id of a round in the secure steps, which is that of one attempt: a coordinator that takes over an open round finds its plan, and a
 * round that is opened again after it was abandoned is masked anew, because its participants may have changed or restarted since.
 */
export const secureRoundId = ({ federation, openedAt }: Attempt, round: number): string =>
  `${federation.id}/${round}/${openedAt?.getTime() ?? 0}`;

/** The plan of the round that is open, if it is made. `accepted` counts the masked updates that it has. */
export async function findPlan(
  run: Attempt & { readonly deps: { readonly blobs: Pick<BlobFolder, "folder"> } },
  { round, accepted }: { round: number; accepted: number },
): Promise<SecurePlan | undefined> {
  const { deps, federation } = run;
  const found = await readPlan(deps.blobs, secureRoundId(run, round));
  // The release before named plans without the attempt. Only a round that has masked updates already is known to be of that plan.
  return found || accepted === 0 ? found : readPlan(deps.blobs, `${federation.id}/${round}`);
}

const planFolder = ({ folder }: Pick<BlobFolder, "folder">): string => join(folder, "secure-rounds");

/** Reads the plan of a round, if it is stored. */
export async function readPlan(blobs: Pick<BlobFolder, "folder">, round: string): Promise<SecurePlan | undefined> {
  try {
    return JSON.parse(await readFile(pathOf(blobs, round), "utf8")) as SecurePlan;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}

/** Stores the plan of a round durably. */
export async function writePlan(blobs: Pick<BlobFolder, "folder">, plan: SecurePlan): Promise<void> {
  mkdirSync(planFolder(blobs), { recursive: true, mode: 0o700 });
  const path = pathOf(blobs, plan.round);
  const file = await open(`${path}.partial`, "w", 0o600);
  try {
    await file.writeFile(JSON.stringify(plan));
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(`${path}.partial`, path);
}

/** Removes the plan of a round. */
export async function dropPlan(blobs: Pick<BlobFolder, "folder">, round: string): Promise<void> {
  await rm(pathOf(blobs, round), { force: true });
}

/** Nodes store hidden updates for a day, so a plan is useless after two. */
const PLAN_MS_MAX = 2 * 86_400_000;

/** Removes the plans of unfinished rounds. */
export async function dropOldPlans(blobs: Pick<BlobFolder, "folder">, now: number): Promise<void> {
  const folder = planFolder(blobs);
  for (const name of await orElse(readdir(folder), [], "no plan yet")) {
    const path = join(folder, name);
    const found = await orElse(stat(path), undefined, "removed meanwhile");
    if (found && found.mtimeMs < now - PLAN_MS_MAX) await rm(path, { force: true });
  }
}

const pathOf = (blobs: Pick<BlobFolder, "folder">, round: string): string => join(planFolder(blobs), `${encodeURIComponent(round)}.json`);
