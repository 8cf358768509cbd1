import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newTenant, type Tenant } from "../../test/helpers/api.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../../test/helpers/mongod.ts";
import { freePort } from "../../test/helpers/processes.ts";
import { startWatchedPlatform, type WatchedPlatform } from "../../test/monitoring/watched-platform.ts";
import { startFaultyUpstream } from "./faulty-upstream.ts";

/** Names of the processes besides one of every role. */
export const SPARES = { edge: "edge on a small disk", control: "control plane on MongoDB", trainer: "trainer with one thread" } as const;

/** Processes with a DATA_DIR of their own cannot read the one that a control plane makes. */
export const CONTROL_TOKEN = "control-token-of-the-stage-of-alerts";
/** The disk of the second edge. */
export const SMALL_DISK_BYTES = 64 * 1024 * 1024;
/** A page: too small for any backup. */
const BACKUP_DISK_BYTES = 4096;
/** Its calls go on for this time without a control plane, so that many are unsettled. */
const SMALL_EDGE_MIRROR_MS = 60_000;

/** What the conditions of alerts are made on. */
export interface Stage {
  readonly platform: WatchedPlatform;
  readonly mongo: ReplicaSet;
  readonly smallEdge: { readonly url: string; readonly dataDir: string };
  readonly trainerUrl: string;
  readonly tenant: Tenant;
  close(): Promise<void>;
}

/** One process of every role, a second edge on a file system of 64 MB, a control plane on MongoDB and a trainer node with one thread. */
export async function openStage(): Promise<Stage> {
  if ((await requireMongod()) === undefined) throw new Error("the alerts of a store that cannot be read need a mongod");
  const folder = mkdtempSync(join(tmpdir(), "tributary-stage-"));
  const [edgePort, controlPort, trainerPort] = [await freePort(), await freePort(), await freePort()];
  const upstream = await startFaultyUpstream();
  const closing: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true }), upstream.stop];
  const close = async () => {
    for (const each of closing.toReversed()) await each();
  };
  try {
    const config = join(folder, "config.yaml");
    writeFileSync(config, upstream.config);
    const mongo = await startReplicaSet({ folder: join(folder, "mongo") });
    closing.push(mongo.stop);
    const dataDir = join(folder, "edge");
    const spare = (name: string) => ({ DATA_DIR: madeIn(folder, name) });
    const platform = await startWatchedPlatform({
      certificateDays: 10,
      env: { CONFIG: config, CONTROL_TOKEN },
      controlLauncher: ({ backups }) => onDiskOf(BACKUP_DISK_BYTES, backups),
      spares: () => [
        {
          name: SPARES.edge,
          job: "tributary-edge",
          launcher: onDiskOf(SMALL_DISK_BYTES, dataDir),
          env: {
            DATA_DIR: dataDir,
            PORT: String(edgePort),
            EDGE_INDEX: "1",
            MIRROR_AGE_MS: String(SMALL_EDGE_MIRROR_MS),
            OVERLOAD_TURN_MS: "5",
          },
        },
        {
          name: SPARES.control,
          job: "tributary-control-plane",
          env: { ...spare("control"), CONTROL_PORT: String(controlPort), MONGODB_URI: mongo.uri },
        },
        {
          name: SPARES.trainer,
          job: "tributary-trainer",
          env: { ...spare("trainer"), TRAINER_PORT: String(trainerPort), TRAINER_THREADS: "1" },
        },
      ],
    });
    closing.push(platform.stop);
    const tenant = await newTenant({ url: platform.url }, { name: "alerts", creditNano: 1_000_000_000_000 });
    const smallEdge = { url: `http://127.0.0.1:${edgePort}`, dataDir };
    return { platform, mongo, smallEdge, trainerUrl: `http://127.0.0.1:${trainerPort}`, tenant, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A file system of the process's own in a folder, in a mount namespace: no root is needed, and nothing is left behind. */
function onDiskOf(bytes: number, folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  return ["unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=${bytes},mode=700 tmpfs '${folder}' && exec "$@"`, "sh"];
}

function madeIn(folder: string, name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
}
