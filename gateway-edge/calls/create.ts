import { createGuard } from "../../common/outbound.ts";
import { edgeIdOf } from "../../common/peers/peer.ts";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";
import { type Catalog, createCatalog } from "../access/catalog.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";
import { createMirror, type Mirror } from "../access/mirror.ts";
import { createPlanes, type PlanesDeps } from "../access/planes.ts";
import { type FlushAsked, startWatch } from "../access/watch.ts";
import type { Credit } from "../credit/credit.ts";
import type { JournalFigures } from "../credit/journal/journal.ts";
import type { LeaseFigures } from "../credit/lease-book.ts";
import { openCredit } from "../credit/open-credit.ts";
import type { EdgeDeps } from "../deps.ts";
import { echoUpstream } from "../upstream/providers/echo/upstream.ts";
import type { Provider, Send } from "../upstream/providers/provider.ts";
import { providers as allProviders } from "../upstream/providers/registry.ts";
import { createRouter, type Router } from "../upstream/routing/route.ts";
import type { ConnectionWaits } from "../upstream/transports/connection-wait.ts";
import { createGoogleTokens } from "../upstream/transports/google-token.ts";
import { connectionsWithin, readOpenFilesMax } from "../upstream/transports/open-files.ts";
import { createHttpSend, type HttpSend } from "../upstream/transports/send-http.ts";
import { createAwsSigner } from "../upstream/transports/sign-aws.ts";
import { createSend } from "../upstream/transports/upstream.ts";
import { createUpstreamGuard, type UpstreamGuard } from "../upstream/transports/upstream-guard.ts";
import { CallCounts, type CallSlot } from "./call-counts.ts";
import type { ContentFigures } from "./content/content-lane.ts";
import { Contents } from "./content/contents.ts";
import { counted } from "./counted-credit.ts";
import type { InferenceCall, InferenceResult } from "./inference/inference-call.ts";
import { createLayers, type LayerFigures, type Layers } from "./layers/layers.ts";
import { createMcp, type Mcp } from "./mcp/mcp.ts";
import { createPassThrough, type PassThrough } from "./pass-through/pass-through.ts";
import { createRealtime, type Realtime } from "./realtime/realtime.ts";
import { type Refusal, Refusals } from "./refusals.ts";
import { CountingLane } from "./tokens/counting-lane.ts";
import { CountingPace } from "./tokens/counting-pace.ts";
import { countRemotely, type RemoteCountDeps, type RemoteCounted, type RemoteCountInput } from "./tokens/remote-count.ts";
import { type Countable, countTokens } from "./tokens/token-counter.ts";

/** The inference half of an edge, without its HTTP routes. */
export interface Inference {
  run<Answer>(call: InferenceCall<Answer>): Promise<InferenceResult<Answer>>;
  /** Writes a refused call to the log, unless it has a row already. */
  refused(refusal: Refusal): void;
  /** How many tokens a request has, by the provider's own count; undefined where the provider has none. */
  countRemotely(count: RemoteCountInput): Promise<RemoteCounted | undefined>;
  /** How many tokens a request has, by the vocabulary of its model, for a caller who does not pay for the count. */
  countFreely(keyId: string, model: string, countable: Countable): Promise<number>;
  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined>;
  /** For work that holds a caller: it is called with what tells whether that caller may have changed. */
  onCallerChange: Mirror["onChange"];
  isMasterKey(sha256: Buffer): boolean;
  /** Providers' own APIs, called with the gateway's keys. */
  readonly passThrough: PassThrough;
  /** Tools of MCP servers that organizations registered. */
  readonly mcp: Mcp;
  /** Sessions over WebSockets. */
  readonly realtime: Realtime;
  /** Which models can be called, and which deployments serve them. */
  readonly routing: Router;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly layers: Pick<Layers, "cache" | "guardrails">;
  /** Takes over a change of the gateway's settings that this edge asked for, so that it counts from the next call on. */
  refreshSettings(): Promise<void>;
  /** Whether calls can be served now: the catalog is loaded and the heartbeat of the control plane is recent. */
  ready(): boolean;
  figures(): InferenceFigures;
  /** Finished calls that the ledger does not have yet. */
  unsettled(): number;
  /** The state of this edge, for the operators' system page. */
  report(): Omit<ReportEdgeRequest, "version" | "startedAt">;
  /** Every control plane that this edge is connected to. */
  controlPlanes(): readonly Pick<ControlPlane, "system">[];
  /** Called after the last call: waits until the ledger has every settlement. */
  stop(): Promise<void>;
}

export interface InferenceFigures extends LayerFigures {
  readonly calls: readonly CallSlot[];
  readonly contents: ContentFigures;
  readonly journal: JournalFigures;
  readonly leases: LeaseFigures;
  readonly mirrorAgeMs: number;
  readonly callersCached: number;
  readonly connectionWaits: ConnectionWaits;
  /** Bytes of each running answer that have arrived and are not processed: their client reads slowly. */
  readonly upstreamBytesHeld: readonly number[];
}

/** What a test may replace. */
export interface InferenceParts {
  readonly providers?: ReadonlyMap<string, Provider>;
  readonly send?: Send;
  readonly credit?: Credit;
}

const FLUSHED_MS = 1000;

/** Wires the inference half; resolves when the first catalog is loaded and the feed is watched. */
export async function createInference(deps: EdgeDeps, parts: InferenceParts = {}): Promise<Inference> {
  const { config, control, clock, random, logger, tracing } = deps;
  const edgeId = edgeIdOf(config.tls?.peer, `edge-${config.edgeIndex}-${random.bytes(4).toString("hex")}`);
  const [stopping, counts] = [new AbortController(), new CallCounts()];
  const { planes, credit, contents, flush } = await openPlanes(deps, { edgeId, counts, given: parts.credit });
  const refusals = new Refusals({ credit, clock, logger });
  const routing = createRouter({ clock, random, onFailed: (deploymentId, status) => counts.countFailed(deploymentId, status) });
  const providers = parts.providers ?? allProviders;
  const guard = createUpstreamGuard({ allowPrivate: config.allowPrivateUpstreams });
  const http = networkHttp(deps, guard);
  const send = parts.send ?? createSend({ "echo:": echoUpstream, "http:": http, "https:": http }, clientHttp(deps));
  const runDeps = { routing, credit, providers, send, clock, logger, tracing, dropParams: () => routing.settings().dropParams };
  const layers = createLayers({ ...runDeps, random, config, contents });
  const passThrough = createPassThrough({ ...runDeps, guardrails: layers.guardrails, ...limitsIn(config) });
  const realtime = createRealtime({ ...deps, ...runDeps, guard, guardrails: layers.guardrails, ...sessionsIn(config) });
  const mcp = createMcp({ ...deps, credit, refusals, guardrails: layers.guardrails });
  const catalog = createCatalog({
    access: control.access,
    clock,
    logger,
    signal: stopping.signal,
    take: ({ deployments, settings }) => {
      for (const part of [guard, counts]) part.update(deployments);
      for (const part of [routing, passThrough]) part.update(deployments, settings);
      layers.update(settings);
    },
  });
  const mirror = createMirror({ access: control.access, clock, ageMsMax: config.mirrorAgeMs });
  const watch = startWatch(await catalog.load(), {
    open: (request, options) => control.watch(request, options),
    reconnect: () => control.reconnect(),
    clock,
    random,
    logger,
    edgeId,
    receive: (changes, { instance, noPrimary, owners }) => {
      planes.take(owners);
      mirror.receive(changes, { noPrimary });
      catalog.receivedFrom(instance);
      for (const { kind, revision } of changes) {
        // What is read without a primary may be rolled back; it comes again when there is one.
        if (kind === "catalog" && !noPrimary) catalog.changed(revision);
        if (kind === "cache") void layers.cache.clear();
      }
    },
    flush: (asked) => flush({ ...asked, access: control.access }),
    recover: async () => {
      mirror.dropAll();
      // The missed changes may include an order to clear the cache.
      void layers.cache.clear();
      return await catalog.loadAnew();
    },
  });
  const isReady = () => catalog.isLoaded() && mirror.isAlive() && credit.trouble() === undefined;
  return {
    run: layers.run,
    passThrough,
    mcp,
    realtime,
    refused: (refusal) => refusals.note(refusal),
    ...countsWith(runDeps),
    ...fromMirror(mirror),
    ...fromCatalog(catalog),
    routing,
    providers,
    layers,
    ready: isReady,
    figures: () => ({ ...figuresOf({ counts, credit, mirror, http }), contents: contents.figures(), ...layers.figures() }),
    unsettled: () => credit.pending(),
    report: () => reportOf(credit, { edgeId, isReady }),
    controlPlanes: () => planes.all(),
    stop: async () => {
      await Promise.all([realtime.settled(), mcp.settled(), refusals.flush()]);
      await Promise.all([credit.close(), contents.stop()]);
      stopping.abort();
      await Promise.all([watch.stop(), planes.stop()]);
      await layers.close();
    },
  };
}

function countsWith(deps: RemoteCountDeps): Pick<Inference, "countRemotely" | "countFreely"> {
  const lane = new CountingLane(deps.clock);
  return {
    countRemotely: (count) => countRemotely(deps, count),
    countFreely: (keyId, model, countable) => countTokens(model, countable, new CountingPace(lane.pacingOf(keyId))),
  };
}

function fromMirror(mirror: Mirror): Pick<Inference, "findCaller" | "onCallerChange"> {
  return { findCaller: (sha256) => mirror.findCaller(sha256), onCallerChange: (listener) => mirror.onChange(listener) };
}

function fromCatalog({ isMasterKey, refresh }: Catalog): Pick<Inference, "isMasterKey" | "refreshSettings"> {
  return { isMasterKey, refreshSettings: refresh };
}

function figuresOf({ counts, credit, mirror, http }: { counts: CallCounts; credit: Credit; mirror: Mirror; http: HttpSend }) {
  return {
    calls: counts.slots,
    journal: credit.journal(),
    leases: credit.leases(),
    mirrorAgeMs: mirror.ageMs(),
    callersCached: mirror.size(),
    connectionWaits: http.waits(),
    upstreamBytesHeld: http.heldBytes(),
  };
}

function limitsIn({ jsonBodyBytesMax, streamStallMs }: EdgeDeps["config"]) {
  return { bodyBytesMax: jsonBodyBytesMax, stallMs: streamStallMs };
}

function sessionsIn({ realtimeIdleMs, realtimeSessionMs, proxyOf }: EdgeDeps["config"]) {
  return { limits: { idleMs: realtimeIdleMs, totalMs: realtimeSessionMs }, proxyOf };
}

function reportOf(credit: Credit, { edgeId, isReady }: { edgeId: string; isReady: () => boolean }): ReturnType<Inference["report"]> {
  const { openCalls, bytes, records, unacknowledged, oldestUnacknowledgedAt } = credit.journal();
  return {
    id: edgeId,
    isReady: isReady(),
    trouble: credit.trouble(),
    inFlight: BigInt(openCalls),
    journal: {
      bytes: BigInt(bytes),
      records: BigInt(records),
      unshipped: BigInt(unacknowledged),
      oldestUnshippedAt: oldestUnacknowledgedAt,
    },
  };
}

/** The credit of this edge at the control planes that own it, and how a request of one of them for settlements is answered. */
async function openPlanes(deps: EdgeDeps, { edgeId, counts, given }: { edgeId: string; counts: CallCounts; given: Credit | undefined }) {
  const flush: PlanesDeps["flush"] = ({ access, ...asked }) => {
    if (asked.recall !== undefined) credit.recall(asked.recall);
    void tellFlushed({ access, logger: deps.logger }, { credit, edgeId, ...asked });
  };
  const planes = createPlanes({ ...deps, connect: deps.connectPlane, edgeId, flush });
  const contents = new Contents(deps);
  const credit = counted(given ?? (await openCredit(deps, edgeId, planes)), { counts, contents, tracing: deps.tracing });
  return { planes, credit, contents, flush };
}

/** Ships the ended calls that a requester waits for to the ledger and reports that. The requester waits only for a limited time. */
async function tellFlushed(
  { access, logger }: Pick<EdgeDeps, "logger"> & { readonly access: Pick<ControlPlane["access"], "flushed"> },
  { credit, edgeId, flush, organizationId }: { credit: Credit; edgeId: string } & Pick<FlushAsked, "flush" | "organizationId">,
): Promise<void> {
  await credit.settled(organizationId);
  await access.flushed({ edgeId, flush }, { deadlineMs: FLUSHED_MS }).catch((error: unknown) => {
    logger.debug({ error: String(error) }, "it could not be reported to the control plane that all calls are settled");
  });
}

/** Connections and addresses at one time that clients chose themselves. */
const CLIENT_LIMITS = { connectionsMax: 64, originsMax: 256 };

/**
 * The network, for addresses of clients: no connection is shared with the operator's upstreams, and each passes the rule for addresses that
 * tenants name. Without a proxy, which would resolve names by itself.
 */
function clientHttp({ clock, config }: EdgeDeps): Send {
  const guard = createGuard({ allowPrivate: config.allowPrivateUpstreams });
  const unsigned = () => Promise.reject(new Error("calls to addresses of clients are not signed"));
  const signers = { aws: unsigned, google: unsigned };
  return createHttpSend({ clock, guardFor: () => guard, transport: config.upstreamTransport, signers, ...CLIENT_LIMITS });
}

/** The network, for all upstreams but the built-in one. */
function networkHttp({ clock, config }: EdgeDeps, { guardFor }: UpstreamGuard): HttpSend {
  return createHttpSend({
    clock,
    guardFor,
    proxyOf: config.proxyOf,
    transport: config.upstreamTransport,
    signers: { aws: createAwsSigner(clock), google: createGoogleTokens({ clock }) },
    connectionsMax: connectionsWithin(config.upstreamConnectionsMax, readOpenFilesMax()),
  });
}
