import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../common/clock.ts";
import { asAppError } from "../../common/errors.ts";
import { FeedPlace } from "../../common/feed-place.ts";
import { ignore } from "../../common/ignore.ts";
import type { Logger } from "../../common/logger.ts";
import type { Deployment, GetSnapshotResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "./clients/control-plane.ts";
import { placeOf } from "./place.ts";

/** The deployments that can be called. Loaded from the control plane at start and after every change, and passed on as a whole. */
export interface Catalog {
  /** Compares in constant time. */
  isMasterKey(sha256: Buffer): boolean;
  /** Retries until it succeeds or the signal aborts; resolves with the place in the feed that the loaded catalog has. */
  load(): Promise<FeedPlace>;
  /** The same after a resync: changes from before may be gone with a store that was restored, and are not waited for. */
  loadAnew(): Promise<FeedPlace>;
  /** The catalog changed at this revision. Loads again, once for any number of changes. */
  changed(revision: bigint): void;
  /** A control plane sent a message. Loads again if it is another process: that one may have started with another configuration. */
  receivedFrom(instance: string): void;
  /** Loads again, after a change that this edge itself asked for: its next call has it, before the feed reports it. */
  refresh(): Promise<void>;
  isLoaded(): boolean;
}

/** What the catalog needs; `access` is the control plane's client. */
export interface CatalogDeps {
  readonly access: Pick<ControlPlane["access"], "getSnapshot">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Receives every new version of the catalog: active deployments, and the configuration's settings as JSON. */
  take(view: { deployments: readonly Deployment[]; settings: string }): void;
}

const SNAPSHOT_MS = 2000;
const BACK_OFF_MS = 100;
const ONLY_AT_STOP = "loading fails only when the edge stops";
const BACK_OFF_MS_MAX = 1000;

export function createCatalog(deps: CatalogDeps): Catalog {
  let masterKeySha256: Buffer | undefined;
  let isLoaded = false;
  /** The changes that the next catalog must have. */
  let wanted = new FeedPlace();
  let loading: Promise<FeedPlace> | undefined;
  /** The control plane process that last sent a message or the first snapshot. */
  let instance: string | undefined;
  /** Counts changes and instances. */
  let news = 0;

  function take(snapshot: GetSnapshotResponse): FeedPlace {
    const deployments = snapshot.deployments.filter((deployment) => deployment.model?.status === "active");
    deps.take({ deployments, settings: snapshot.settings });
    masterKeySha256 = snapshot.masterKeySha256;
    isLoaded = true;
    instance ??= snapshot.instance;
    return placeOf(snapshot);
  }

  /**
   * A change that arrives while a snapshot is fetched may not be in it, and the snapshot may come from the process before: then it is
   * fetched again.
   */
  async function loadWanted(): Promise<FeedPlace> {
    for (;;) {
      const before = news;
      const place = take(await fetchSnapshot(deps));
      const hasWanted = wanted.revisions.every((revision) => place.covers(revision));
      if (before === news && hasWanted) return place;
      if (!hasWanted) await deps.clock.sleep(BACK_OFF_MS, deps.signal);
    }
  }

  function load(): Promise<FeedPlace> {
    loading ??= loadWanted().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    isMasterKey: (sha256) => masterKeySha256?.length === sha256.length && timingSafeEqual(masterKeySha256, sha256),
    load,
    loadAnew() {
      wanted = new FeedPlace();
      news++;
      return load();
    },
    changed(revision) {
      if (!wanted.covers(Number(revision))) news++;
      wanted.advance(Number(revision));
      void ignore(load(), ONLY_AT_STOP);
    },
    receivedFrom(sender) {
      if (sender === "" || sender === instance) return;
      instance = sender;
      news++;
      void ignore(load(), ONLY_AT_STOP);
    },
    async refresh() {
      news++;
      // The change is stored already: if this takes longer, the feed brings it.
      await Promise.race([ignore(load(), ONLY_AT_STOP), deps.clock.sleep(SNAPSHOT_MS, deps.signal)]);
    },
    isLoaded: () => isLoaded,
  };
}

async function fetchSnapshot({ access, clock, logger, signal }: CatalogDeps): Promise<GetSnapshotResponse> {
  for (let delay = BACK_OFF_MS; ; delay = Math.min(delay * 2, BACK_OFF_MS_MAX)) {
    signal.throwIfAborted();
    try {
      return await access.getSnapshot({}, { deadlineMs: SNAPSHOT_MS, signal });
    } catch (error) {
      logger.warn({ error: String(error), internal: asAppError(error).internal }, "the catalog could not be loaded; trying again");
      await clock.sleep(delay, signal);
    }
  }
}
