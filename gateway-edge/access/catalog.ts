import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { Deployment, GetSnapshotResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "./clients/control-plane.ts";

/** What the control plane says can be called: loaded at the start and whenever it changed, handed on whole. */
export interface Catalog {
  isMasterKey(sha256: Buffer): boolean;
  /** Loads until it succeeds or the signal says stop; resolves with the revision it has. */
  load(): Promise<bigint>;
  /** Something in the catalog has changed at this revision: load again, once for any number of changes. */
  changed(revision: bigint): void;
  /** A control plane is heard: one that did not give the newest view may have started with another configuration. */
  heard(instance: string): void;
  isLoaded(): boolean;
}

export interface CatalogDeps {
  readonly access: Pick<ControlPlane["access"], "getSnapshot">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Given every new view of what can be called: active deployments, and the configuration's settings as JSON. */
  take(view: { deployments: readonly Deployment[]; settings: string }): void;
}

const SNAPSHOT_MS = 2000;
const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 1000;

export function createCatalog(deps: CatalogDeps): Catalog {
  let masterKeySha256: Buffer | undefined;
  let loadedRevision: bigint | undefined;
  let wantedRevision = 0n;
  let loading: Promise<bigint> | undefined;
  /** The control plane last heard, or asked at the start. */
  let instance: string | undefined;
  let instances = 0;

  function take(snapshot: GetSnapshotResponse): bigint {
    const deployments = snapshot.deployments.filter((deployment) => deployment.model?.status === "active");
    deps.take({ deployments, settings: snapshot.settings });
    masterKeySha256 = snapshot.masterKeySha256;
    loadedRevision = snapshot.revision;
    instance ??= snapshot.instance;
    return snapshot.revision;
  }

  /** A change heard while a snapshot was on its way may not be in it, and another control plane not its source: then there is one more round. */
  async function loadWanted(): Promise<bigint> {
    for (;;) {
      const [wanted, heard] = [wantedRevision, instances];
      const revision = take(await fetchSnapshot(deps));
      if (wanted === wantedRevision && heard === instances && revision >= wantedRevision) return revision;
      if (revision < wantedRevision) await deps.clock.sleep(BACK_OFF_MS, deps.signal);
    }
  }

  function load(): Promise<bigint> {
    loading ??= loadWanted().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    isMasterKey: (sha256) => masterKeySha256?.length === sha256.length && timingSafeEqual(masterKeySha256, sha256),
    load,
    changed(revision) {
      if (revision > wantedRevision) wantedRevision = revision;
      // Only stopping ends it, and then nobody needs the catalog.
      load().catch(() => {});
    },
    heard(speaker) {
      if (speaker === "" || speaker === instance) return;
      instance = speaker;
      instances++;
      // As above.
      load().catch(() => {});
    },
    isLoaded: () => loadedRevision !== undefined,
  };
}

async function fetchSnapshot({ access, clock, logger, signal }: CatalogDeps): Promise<GetSnapshotResponse> {
  for (let delay = BACK_OFF_MS; ; delay = Math.min(delay * 2, BACK_OFF_MS_MAX)) {
    signal.throwIfAborted();
    try {
      return await access.getSnapshot({}, { deadlineMs: SNAPSHOT_MS, signal });
    } catch (error) {
      logger.warn({ error: String(error) }, "the catalog could not be loaded; trying again");
      await clock.sleep(delay, signal);
    }
  }
}
