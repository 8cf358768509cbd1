import { timingSafeEqual } from "node:crypto";
import { type Clock, pause } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { FeedPlace } from "../../../common/feed-place.ts";
import type { ServerStream, ServiceHandlers } from "../../../common/grpc/server.ts";
import { SharedTexts } from "../../../common/grpc/shared-texts.ts";
import {
  AccessServiceService,
  type ResolveKeyResponse,
  SettleRequest,
  type WatchRequest,
  type WatchResponse,
} from "../../../proto/gen/tributary/access/v1/access.ts";
import type { FeedMessage } from "../../feed/hub.ts";
import { ownersForStream } from "../../slots/owners-message.ts";
import { placeOfOrganization } from "../../stores/feed-lanes.ts";
import { allDeployments } from "../catalog/merged-catalog.ts";
import type { ControlDeps } from "../deps.ts";
import { settingsJson } from "../gateway/merged-settings.ts";
import { callerOfHash, masterCaller } from "./callers.ts";
import { creditHandlers } from "./credit.ts";
import { idempotentCallHandlers } from "./idempotency.ts";

const WATCH_QUEUE_MAX = 1000;
const BEAT_MS = 1000;
const MORE_KEYS_MAX = 1000;

/** The stored hash of the master key and, if the operator chose the key, its SHA-256, by which edges recognize a key without a checksum. */
export interface MasterKey {
  hash: string | undefined;
  sha256: Buffer | undefined;
}

/** The service of edges. Rows of calls are most of what it receives, and repeat their texts. */
export const ACCESS_SERVICE: typeof AccessServiceService = {
  ...AccessServiceService,
  settle: { ...AccessServiceService.settle, requestDeserialize: (bytes) => SettleRequest.decode(new SharedTexts(bytes)) },
};

/** Handlers for edges: keys, snapshots, the feed and credit. */
export function accessHandlers(deps: ControlDeps, master: MasterKey): ServiceHandlers<typeof AccessServiceService> {
  return {
    async resolveKey({ secretSha256, more }) {
      if (more.length > MORE_KEYS_MAX) throw new AppError("VALIDATION_ERROR", `At most ${MORE_KEYS_MAX} more keys are looked up at once.`);
      const [first, ...others] = await Promise.all([secretSha256, ...more].map((sha256) => resolveKey(deps, master, sha256)));
      return { ...(first as ResolvedKey), more: others.map((answer) => ({ ...answer, more: [] })) };
    },

    async getSnapshot() {
      const { total, revisions } = deps.feed.place;
      const deployments = await allDeployments(deps);
      return {
        deployments,
        masterKeySha256: master.sha256,
        revision: BigInt(total),
        settings: await settingsJson(deps),
        instance: deps.instance,
        place: { revisions: revisions.map(BigInt) },
      };
    },

    async getTeamModels(request) {
      const team = await deps.store.get("teams", request.teamId);
      const member = request.userId === undefined ? undefined : await deps.store.get("teamMembers", `${request.teamId}/${request.userId}`);
      if (!team || !(member || request.isAdmin)) throw new AppError("NOT_FOUND", `The team ${request.teamId} does not exist.`);
      return { models: team.models && { names: [...team.models] } };
    },

    watch(request, stream) {
      void watch(deps, request, stream);
    },

    ...creditHandlers(deps),
    ...idempotentCallHandlers(deps),
  };
}

type ResolvedKey = Omit<ResolveKeyResponse, "more">;

async function resolveKey(deps: ControlDeps, master: MasterKey, sha256: Buffer): Promise<ResolvedKey> {
  // The place is read first, so that the answer is at least as new as it claims.
  const { place } = deps.feed;
  const hash = deps.secrets.keyHash(sha256);
  const isMaster = master.hash !== undefined && timingSafeEqual(Buffer.from(hash), Buffer.from(master.hash));
  const caller = isMaster ? await masterCaller(deps) : await callerOfHash(deps, hash);
  const known = placeOfOrganization(place, caller?.organizationId, deps.store.slots);
  return { caller, revision: BigInt(place.total), place: { revisions: known.map(BigInt) } };
}

/** Sends changes as they come. The stream of an edge that reads too slowly is ended; the gap then makes the edge resync. */
async function watch(deps: ControlDeps, request: WatchRequest, stream: ServerStream<WatchResponse>): Promise<void> {
  const { place, edgeId } = request;
  const owners = ownersForStream(deps.slots);
  let waiting = 0;
  let draining = false;
  const { instance } = deps;
  let isWithoutPrimary = false;
  const closed = new AbortController();
  const send = (message: FeedMessage) => {
    if (stream.signal.aborted || closed.signal.aborted) return;
    if (draining && ++waiting > WATCH_QUEUE_MAX) {
      closed.abort();
      return stream.end();
    }
    isWithoutPrimary = message.noPrimary ?? false;
    const sent = stream.write({
      // An edge that knows one number cannot say which change of which lane it has: each change makes it load everything again.
      changes: place ? message.changes.map(({ id, kind, subject }) => ({ revision: BigInt(id), kind, subject })) : [],
      revision: BigInt(message.total),
      resync: message.resync || (!place && message.changes.length > 0),
      instance,
      noPrimary: message.noPrimary ?? false,
      owners: owners(),
    });
    if (sent || draining) return;
    draining = true;
    void stream.drained().then(() => {
      draining = false;
      waiting = 0;
    });
  };
  try {
    const beat = () => send({ changes: [], total: 0, resync: false });
    const from = place && new FeedPlace(place.revisions.map(Number));
    const stopFeed = request.withoutChanges ? repeat(deps.clock, beat) : await deps.feed.watch(from, send);
    const forget = deps.edges.add(edgeId, ({ flush, recall, organizationId }) => {
      if (gone.aborted) return;
      stream.write({
        changes: [],
        revision: request.withoutChanges ? 0n : BigInt(deps.feed.place.total),
        resync: false,
        flush: BigInt(flush),
        recall,
        flushOrganization: organizationId,
        instance,
        noPrimary: isWithoutPrimary,
      });
    });
    const gone = AbortSignal.any([stream.signal, closed.signal, deps.feed.stopping]);
    const stop = () => {
      stopFeed();
      forget();
      if (deps.feed.stopping.aborted) stream.end();
    };
    if (gone.aborted) stop();
    else gone.addEventListener("abort", stop, { once: true });
  } catch (error) {
    deps.logger.warn({ error: String(error) }, "the watch of an edge could not be opened; the edge reconnects");
    stream.end();
  }
}

/** Sends now and each second, for edges that receive the changes from another control plane. Returns the function that stops it. */
function repeat(clock: Clock, send: () => void): () => void {
  const stopping = new AbortController();
  const run = async () => {
    while (!stopping.signal.aborted) {
      send();
      await pause(clock, BEAT_MS, stopping.signal);
    }
  };
  void run();
  return () => stopping.abort();
}
