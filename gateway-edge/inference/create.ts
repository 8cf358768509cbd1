import type { Caller, Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import { createCatalog } from "../access/catalog.ts";
import { createMirror } from "../access/mirror.ts";
import { startWatch } from "../access/watch.ts";
import type { Credit } from "../credit/credit.ts";
import { createRpcCredit } from "../credit/rpc-credit.ts";
import type { EdgeDeps } from "../deps.ts";
import { echoUpstream } from "../providers/echo/upstream.ts";
import type { Provider, Send } from "../providers/provider.ts";
import { providers as allProviders } from "../providers/registry.ts";
import { type InferenceCall, type InferenceResult, runInference } from "./run-inference.ts";
import { createSend } from "./upstream.ts";

/** The inference half of an edge, without its HTTP. */
export interface Inference {
  run(call: InferenceCall): Promise<InferenceResult>;
  findCaller(sha256: Buffer): Promise<Caller | undefined>;
  isMasterKey(sha256: Buffer): boolean;
  readonly catalog: { modelNames(): readonly string[]; deploymentsOf(model: string): readonly Deployment[] };
  /** Whether calls can be served now: the catalog is known and the control plane is heard. */
  ready(): boolean;
  figures(): InferenceFigures;
  /** After the last call: waits until the ledger has every settlement. */
  stop(): Promise<void>;
}

export interface InferenceFigures {
  readonly settledByStatus: Readonly<Record<string, number>>;
  readonly settlementsPending: number;
  readonly callersCached: number;
}

/** What a test may put in place of the real thing. */
export interface InferenceParts {
  readonly providers?: ReadonlyMap<string, Provider>;
  readonly send?: Send;
  readonly credit?: Credit;
}

const UPSTREAM_MS_MAX = 600_000;

/** Wires the inference half; resolves when the first catalog is there and changes are listened to. */
export async function createInference(deps: EdgeDeps, parts: InferenceParts = {}): Promise<Inference> {
  const { config, control, clock, random, logger } = deps;
  const { access } = control;
  const stopping = new AbortController();
  const edgeId = `edge-${config.edgeIndex}-${random.bytes(4).toString("hex")}`;
  const credit = counted(parts.credit ?? createRpcCredit({ access, clock, logger, edgeId }));
  const catalog = createCatalog({ access, clock, logger, signal: stopping.signal });
  const mirror = createMirror({ access, clock, ageMsMax: config.mirrorAgeMs });
  const watch = startWatch(await catalog.load(), {
    open: (request, options) => control.watch(request, options),
    clock,
    random,
    logger,
    edgeId,
    hear: (changes) => {
      mirror.hear(changes);
      for (const { kind, revision } of changes) if (kind === "catalog") catalog.changed(revision);
    },
    recover: async () => {
      mirror.dropAll();
      return await catalog.load();
    },
  });
  const runDeps = {
    catalog,
    credit,
    providers: parts.providers ?? allProviders,
    send: parts.send ?? createSend({ "echo:": echoUpstream }),
    clock,
    logger,
    upstreamMs: UPSTREAM_MS_MAX,
  };
  return {
    run: (call) => runInference(runDeps, call),
    findCaller: (sha256) => mirror.findCaller(sha256),
    isMasterKey: catalog.isMasterKey,
    catalog,
    ready: () => catalog.isLoaded() && mirror.isAlive(),
    figures: () => ({ settledByStatus: { ...credit.settledByStatus }, settlementsPending: credit.pending(), callersCached: mirror.size() }),
    stop: async () => {
      await credit.drained();
      stopping.abort();
      await watch.stop();
    },
  };
}

function counted(credit: Credit): Credit & { readonly settledByStatus: Record<string, number> } {
  const settledByStatus: Record<string, number> = {};
  return {
    reserve: (input) => credit.reserve(input),
    settle: (log) => {
      settledByStatus[log.status] = (settledByStatus[log.status] ?? 0) + 1;
      return credit.settle(log);
    },
    release: (callId) => credit.release(callId),
    pending: () => credit.pending(),
    drained: () => credit.drained(),
    settledByStatus,
  };
}
