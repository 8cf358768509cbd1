import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { systemClock } from "../../../../common/clock.ts";
import { AppError, asAppError } from "../../../../common/errors.ts";
import { toErrorInfo } from "../../../../common/grpc/status.ts";
import { maskKey, mintSecret, secretSha256 } from "../../../../common/key-shape.ts";
import { silentLogger } from "../../../../common/logger.ts";
import type { Price } from "../../../../common/pricing.ts";
import { systemRandom } from "../../../../common/random.ts";
import type {
  BeginIdempotentCallRequest,
  Caller,
  Change,
  Deployment,
  EndIdempotentCallRequest,
  LeaseRequest,
  LeaseResponse,
  ReserveManyRequest,
  ReserveOutcome,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
  StoredAnswer,
  WatchResponse,
} from "../../../../proto/gen/tributary/access/v1/access.ts";
import { Caller as CallerMessage, Deployment as DeploymentMessage } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { CallContent } from "../../../../proto/gen/tributary/contents/v1/contents.ts";
import type { ReachableServer } from "../../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { UsageLog } from "../../../../proto/gen/tributary/usage/v1/usage.ts";
import type { ControlPlane } from "../../../access/clients/control-plane.ts";
import { createInference, type Inference, type InferenceParts } from "../../../calls/create.ts";
import { gatewayErrorHandler, gatewayNotFound } from "../../../calls/gateway-error.ts";
import { OpenCalls } from "../../../calls/open-calls.ts";
import { readEdgeConfig } from "../../../config.ts";
import type { Credit } from "../../../credit/credit.ts";
import type { Intent } from "../../../credit/journal/records.ts";
import { openCredit } from "../../../credit/open-credit.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { createEdgeRuns, type EdgeRuns } from "../../../stored/assistants/edge-runs.ts";
import { createMemoryRecords } from "../../../stored/records/memory-records-fixture.ts";
import type { Worker } from "../../../stored/records/worker.ts";
import { ResponseFeed } from "../../../stored/responses/response-feed.ts";
import { startWork } from "../../../stored/start-work.ts";
import { type Listener, listen } from "../../listen.ts";
import { platformErrorHandler } from "../../middleware/error-response.ts";
import { requestId } from "../../middleware/request-id.ts";
import { crossOrigin } from "../../middleware/security-headers.ts";
import { realtimeUpgrades } from "../realtime/realtime-upgrade.ts";
import { exactInferenceRoutes, inferenceRouter, platformMessagesHandler, type RouteParts } from "../routes.ts";

export const MASTER_KEY = "sk-master-key-of-the-tests";
export const USER_TOKEN = "user.token.x";

const at = new Date("2026-01-02T03:04:05.678Z");

export function deployment(
  fields: Partial<Deployment> & { modelName: string },
  prices: Omit<Price, "tiers" | "unit"> = { input: 1_000_000_000n, output: 2_000_000_000n },
): Deployment {
  return DeploymentMessage.fromPartial({
    id: `dep_${fields.modelName}`,
    providerKind: "echo",
    inferenceModelId: "echo-1",
    model: {
      name: fields.modelName,
      providerName: "echo",
      type: "chat",
      status: "active",
      createdAt: at,
      pricing: { version: 3, unit: "token", ...prices },
    },
    ...fields,
  });
}

/** A watch stream that a test feeds. */
export class FakeWatch implements AsyncIterable<WatchResponse> {
  readonly #waiting: WatchResponse[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #failure: unknown;

  push(message: Partial<WatchResponse>): void {
    this.#waiting.push({ changes: [], revision: 0n, resync: false, instance: "", noPrimary: false, ...message });
    this.#wake?.();
  }

  end(failure?: unknown): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake?.();
  }

  cancel(): void {
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchResponse> {
    for (;;) {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) yield next;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** A control plane in this process: keys, credit and settlements in maps, with all requests recorded. */
export class FakeControl {
  readonly callers = new Map<string, Caller>();
  /** Other teams and their model lists. */
  readonly teams = new Map<string, string[] | undefined>([["team_9", undefined]]);
  readonly settled = new Map<string, UsageLog>();
  readonly reserved: ReserveRequest[] = [];
  readonly released: string[] = [];
  /** The settled calls that were made; the others were refused. */
  get made(): UsageLog[] {
    return [...this.settled.values()].filter(({ status }) => status !== "refused");
  }

  /** The journal's intents. */
  readonly intents: Intent[] = [];
  readonly leases = new Map<string, { granted: bigint; settled: bigint; released: bigint }>();
  readonly stored = new Map<string, { hash: string; answer: StoredAnswer | undefined }>();
  deployments: Deployment[] = [deployment({ modelName: "echo" })];
  /** Prompts and answers that were sent. */
  readonly contents: CallContent[] = [];
  /** MCP servers of all organizations. */
  mcpServers: (ReachableServer & { organizationId: string; teamId?: string })[] = [];
  balance = 5_000_000_000n;
  revision = 1n;
  resolveCalls = 0;
  settleCalls = 0;
  /** Runs before each settlement; may wait or throw. */
  beforeSettle: () => Promise<void> | void = () => {};
  /** The configuration's settings as JSON. */
  settings = "{}";
  refuseReserve: AppError | undefined;
  rate: ReserveResponse["rate"];
  watches: FakeWatch[] = [];
  /** Stored records; background work on them has the callers above. */
  readonly records = createMemoryRecords({
    clock: systemClock,
    callerOf: (keyId) => [...this.callers.values()].find((caller) => caller.keyId === keyId),
  });

  constructor() {
    const admin = { keyId: "key_master", teamId: "team_0", organizationId: "org_0", status: "active", isAdmin: true };
    this.callers.set(hex(secretSha256(MASTER_KEY)), CallerMessage.fromPartial(admin));
  }

  addKey(fields: Partial<Caller> = {}): { secret: string; caller: Caller } {
    const secret = mintSecret(systemRandom);
    const caller = CallerMessage.fromPartial({
      keyId: `key_${this.callers.size}`,
      keyName: "test",
      maskedKey: maskKey(secret),
      teamId: "team_1",
      teamName: "Team",
      organizationId: "org_1",
      userId: 7n,
      status: "active",
      role: "owner",
      ...fields,
    });
    this.callers.set(hex(secretSha256(secret)), caller);
    return { secret, caller };
  }

  change(...changes: Omit<Change, "revision">[]): void {
    const message = { changes: changes.map((change) => ({ ...change, revision: ++this.revision })), revision: this.revision };
    for (const watch of this.watches) watch.push(message);
  }

  heartbeat(): void {
    for (const watch of this.watches) watch.push({ revision: this.revision });
  }

  asControlPlane(): ControlPlane {
    const access = {
      resolveKey: async ({ secretSha256: hash }: { secretSha256: Buffer }) => {
        this.resolveCalls++;
        return { caller: this.callers.get(hex(hash)), revision: this.revision, more: [] };
      },
      getSnapshot: async () => ({
        deployments: this.deployments,
        masterKeySha256: secretSha256(MASTER_KEY),
        settings: this.settings,
        revision: this.revision,
        instance: "",
      }),
      getTeamModels: async ({ teamId, isAdmin }: { teamId: string; isAdmin: boolean }) => {
        const models = this.teams.get(teamId);
        if (!isAdmin || !this.teams.has(teamId)) throw new AppError("NOT_FOUND", `The team ${teamId} does not exist.`);
        return { models: models && { names: models } };
      },
      reserveMany: async ({ reservations }: ReserveManyRequest) => ({ outcomes: reservations.map((request) => this.#outcome(request)) }),
      settle: async (request: SettleRequest) => this.#settle(request),
      lease: async (request: LeaseRequest) => this.#lease(request),
      flushed: async () => ({}),
      release: async ({ callId }: { callId: string }) => {
        this.released.push(callId);
        return {};
      },
      beginIdempotentCall: async (request: BeginIdempotentCallRequest) => this.#begin(request),
      endIdempotentCall: async (request: EndIdempotentCallRequest) => this.#end(request),
    };
    const identity = {
      getMe: async (_request: object, { metadata }: { metadata?: Record<string, string | undefined> }) => {
        if (metadata?.["authorization"] !== USER_TOKEN) throw new AppError("UNAUTHORIZED", "Log in again.");
        return { user: { id: 7n, role: "user", organizationId: "org_1" }, organization: { id: "org_1" } };
      },
    };
    const mcp = {
      findServers: async ({ organizationId, teamId }: { organizationId: string; teamId: string }) => ({
        servers: this.mcpServers.filter((server) => server.organizationId === organizationId && (server.teamId ?? teamId) === teamId),
      }),
    };
    const contents = {
      storeContents: async ({ contents: given }: { contents: CallContent[] }) => {
        this.contents.push(...given);
        return { stored: given.length, refused: 0 };
      },
    };
    const organizations = { listOrganizations: async () => ({ organizations: [{ id: "org_1" }, { id: "org_3" }] }) };
    const watch = () => {
      const stream = new FakeWatch();
      stream.push({ revision: this.revision });
      this.watches.push(stream);
      return stream;
    };
    return { access, contents, identity, mcp, organizations, watch, reconnect: () => {}, close: () => {} } as unknown as ControlPlane;
  }

  /** Grants the wanted amount, up to the balance. */
  #lease({ organizationId, need, want, released }: LeaseRequest): LeaseResponse {
    if (this.refuseReserve) throw this.refuseReserve;
    const known = this.leases.get(organizationId) ?? { granted: 0n, settled: 0n, released: 0n };
    const lease = { ...known, released };
    const outstanding = lease.granted - lease.settled - lease.released;
    const available = this.balance - (outstanding > 0n ? outstanding : 0n);
    const amount = available <= 0n ? 0n : want < available ? want : available;
    if (need > 0n) this.reserved.push({ organizationId, worstCase: need } as ReserveRequest);
    this.leases.set(organizationId, { ...lease, granted: lease.granted + amount });
    return { generation: 1n, granted: lease.granted + amount, lifeMs: 45_000, isStrict: false, isBlocked: false };
  }

  #outcome(request: ReserveRequest): ReserveOutcome {
    try {
      return { outcome: { $case: "reserved", value: this.#reserve(request) }, isPerhapsOver: false };
    } catch (thrown) {
      return { outcome: { $case: "refused", value: toErrorInfo(asAppError(thrown)) }, isPerhapsOver: false };
    }
  }

  #reserve(request: ReserveRequest): ReserveResponse {
    if (this.refuseReserve) throw this.refuseReserve;
    if (request.worstCase > 0n && this.balance <= 0n) throw new AppError("QUOTA_EXCEEDED", "Out of credit.");
    this.reserved.push(request);
    return { reserved: request.worstCase < this.balance ? request.worstCase : this.balance, rate: this.rate };
  }

  async #settle({ settlements, returns }: SettleRequest): Promise<{ settled: bigint; repeatedBefore: bigint }> {
    this.settleCalls++;
    await this.beforeSettle();
    for (const { log, leaseGeneration } of settlements) {
      if (!log || this.settled.has(log.callId)) continue;
      this.settled.set(log.callId, log);
      this.balance -= log.cost;
      const lease = this.leases.get(log.organizationId);
      if (lease && leaseGeneration > 0n) lease.settled += log.cost;
    }
    for (const { organizationId, released } of returns) {
      const lease = this.leases.get(organizationId);
      if (lease) lease.released = released;
    }
    return { settled: 1n, repeatedBefore: 0n };
  }

  #begin({ keyId, idempotencyKey, bodySha256 }: BeginIdempotentCallRequest): { answer?: StoredAnswer | undefined } {
    const known = this.stored.get(`${keyId} ${idempotencyKey}`);
    if (known && (known.hash !== hex(bodySha256) || !known.answer)) throw new AppError("IDEMPOTENCY_CONFLICT", "The key was used before.");
    this.stored.set(`${keyId} ${idempotencyKey}`, known ?? { hash: hex(bodySha256), answer: undefined });
    return { answer: known?.answer };
  }

  #end({ keyId, idempotencyKey, answer }: EndIdempotentCallRequest): object {
    const name = `${keyId} ${idempotencyKey}`;
    const known = this.stored.get(name);
    if (answer && known) this.stored.set(name, { ...known, answer });
    else this.stored.delete(name);
    return {};
  }
}

export interface TestEdge {
  readonly openCalls: OpenCalls;
  readonly control: FakeControl;
  readonly inference: Inference;
  readonly worker: Worker;
  readonly runs: EdgeRuns;
  readonly url: string;
  readonly hostedUrl: string;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Answers wait for the ledger here, so that tests can read settlements as soon as they have the answer. */
function settledAtOnce(credit: Credit, control: FakeControl): Credit {
  return {
    reserve: (input) => {
      control.intents.push(input.intent);
      return credit.reserve(input);
    },
    grow: (input, more) => credit.grow(input, more),
    served: (served) => credit.served(served),
    progress: (progress) => credit.progress(progress),
    settle: async (log) => {
      await credit.settle(log);
      await credit.settled();
    },
    recall: (organizationId) => credit.recall(organizationId),
    pending: () => credit.pending(),
    settled: () => credit.settled(),
    trouble: () => credit.trouble(),
    journal: () => credit.journal(),
    leases: () => credit.leases(),
    close: () => credit.close(),
  };
}

/** An edge's inference routes on two loopback ports, one per auth profile. */
export async function startEdge(
  control = new FakeControl(),
  parts: InferenceParts = {},
  env: Record<string, string> = {},
  { overload }: Pick<RouteParts, "overload"> = {},
): Promise<TestEdge> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-edge-"));
  const config = readEdgeConfig({ JSON_BODY_BYTES_MAX: "65536", FILE_BYTES_MAX: "3000000", DATA_DIR: folder, ...env });
  const { records } = control;
  const ports = { clock: systemClock, random: systemRandom, logger: silentLogger, openCalls: new OpenCalls() };
  const deps: EdgeDeps = { config, control: control.asControlPlane(), records, ...ports };
  const credit = parts.credit ?? settledAtOnce(await openCredit(deps, "edge-test"), control);
  const inference = await createInference(deps, { ...parts, credit });
  const runs = createEdgeRuns(deps, inference);
  const feed = new ResponseFeed();
  const worker = startWork(deps, inference, { runs, feed });
  const listeners: Listener[] = [];
  const open = async (authProfile: "gateway" | "hosted") => {
    const app = express();
    app.disable("x-powered-by");
    app.disable("etag");
    if (config.corsOrigins.length > 0) app.use(crossOrigin(config.corsOrigins));
    const routeParts = { inference, worker, runs, feed, authProfile, overload };
    app.use(inferenceRouter(deps, routeParts));
    app.use(requestId(deps));
    app.post("/api/gw/messages", platformMessagesHandler(deps, { inference }));
    app.use("/api", platformErrorHandler(silentLogger));
    app.use(gatewayNotFound, gatewayErrorHandler);
    const exact = exactInferenceRoutes(deps, routeParts);
    const upgrades = realtimeUpgrades(deps, routeParts);
    const listener = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {}, exact, upgrades });
    listeners.push(listener);
    return `http://127.0.0.1:${listener.port}`;
  };
  const url = await open("gateway");
  const hostedUrl = await open("hosted");
  const heart = setInterval(() => control.heartbeat(), 1000);
  return {
    openCalls: ports.openCalls,
    control,
    inference,
    worker,
    runs,
    url,
    hostedUrl,
    post: (path, body, headers = {}) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    close: async () => {
      clearInterval(heart);
      await worker.stop();
      await inference.stop();
      await Promise.all(listeners.map((listener) => listener.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Parses a stream strictly: each frame is a comment, JSON data or [DONE], and [DONE] is the last. */
export function parseStream(text: string): Record<string, unknown>[] {
  if (!text.endsWith("data: [DONE]\n\n")) throw new Error("the stream does not end with [DONE]");
  const blocks = text.slice(0, -2).split("\n\n").slice(0, -1);
  return blocks
    .filter((block) => !block.startsWith(":"))
    .map((block) => {
      if (!block.startsWith("data: ") || block.includes("\n")) throw new Error(`not one data line: ${block}`);
      return JSON.parse(block.slice(6)) as Record<string, unknown>;
    });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
