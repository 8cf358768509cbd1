import express, { type Express, type RequestHandler } from "express";
import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { ProcessState } from "../../common/metrics/serve-metrics.ts";
import type { Random } from "../../common/random.ts";
import { TrainerError } from "../errors.ts";
import { requireAccess } from "../http/access.ts";
import { errorResponse } from "../http/error-response.ts";
import { callingPeer } from "../http/peer.ts";
import { requestIds } from "../http/request-id.ts";
import { parseWith } from "../operations/schemas.ts";
import type { BlobFolder } from "./blobs/blob-folder.ts";
import { blobRoutes } from "./blobs/blob-routes.ts";
import { COPIES_PATH, copyRoutes } from "./blobs/copies/copy-routes.ts";
import { initialRoutes } from "./blobs/initial-route.ts";
import { parametersRoutes } from "./blobs/parameters-route.ts";
import { servableRoutes } from "./blobs/servable-route.ts";
import type { HealthReport } from "./claim-health.ts";
import { joinedRoutes } from "./participants/joined-routes.ts";
import type { JoinedWork } from "./participants/joined-work.ts";
import type { Participants } from "./participants/participants.ts";
import { probeParticipants } from "./participants/probe-participants.ts";
import { type Replay, type ReplayRequest, replayRequest } from "./replay.ts";
import type { FunctionCalls } from "./serving/function-calls.ts";
import { isServePath, serveRoutes } from "./serving/serve-routes.ts";
import type { Verification } from "./verify.ts";

/** Dependencies of the coordinator's HTTP API. */
export interface CoordinatorHttpDeps {
  readonly blobs: BlobFolder;
  /** This coordinator's own folder, without the copies elsewhere. */
  readonly folder: BlobFolder;
  /** A name of this process that no other has. */
  readonly self: string;
  readonly work: JoinedWork;
  verify(federationId: string, signal: AbortSignal): Promise<Verification>;
  replay(federationId: string, request: ReplayRequest, signal: AbortSignal): Promise<Replay>;
  readonly participants: Pick<Participants, "capabilities">;
  /** Calls of models that participants serve. */
  readonly functions: FunctionCalls;
  /** Whether the coordinator gets work from the control plane. */
  health(): HealthReport;
  /** Whether the coordinator is to get calls. */
  state(): ProcessState;
  /** Aborted when the coordinator stops: participants that wait for work ask again elsewhere. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The token that callers must present; if undefined, only this machine may call. */
  readonly token: string | undefined;
}

const REPLAY_BYTES_MAX = 64 * 1024;

/**
 * The coordinator's HTTP API for edges and nodes of the same installation: parameters by their hash, verification, replays, work of joined
 * participants.
 */
export function createCoordinatorApp(deps: CoordinatorHttpDeps): Express {
  const { blobs, folder, self, clock, work, verify, replay, participants, functions, health, state, stopping, logger, token } = deps;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(requestIds(deps));
  app.get("/health", (_request, response) => {
    const report = health();
    response.status(report.status === "ok" ? 200 : 503).json(report);
  });
  app.get("/ready", (_request, response) => {
    response.status(state() === "ready" ? 200 : 503).json({ status: state() });
  });
  // The routes below give access to updates and models, so they require the token, or with TLS a certificate.
  app.use(requireAccess({ auth: "loopback", token, peers: ["edge", "trainer", "operator", "coordinator"] }));
  app.use(keepToTheirRoutes);
  app.use(copyRoutes({ folder, clock, self }));
  app.use(blobRoutes(blobs));
  app.get("/v1/federations/:id/verify", async (request, response) => {
    const left = new AbortController();
    response.once("close", () => left.abort());
    response.json(await verify(String(request.params["id"]), left.signal));
  });
  app.post("/v1/federations/:id/replays", express.json({ limit: REPLAY_BYTES_MAX }), async (request, response) => {
    const left = new AbortController();
    response.once("close", () => left.abort());
    const wanted = parseWith(replayRequest, request.body, "body");
    response.json(await replay(String(request.params["id"]), wanted, left.signal));
  });
  app.post("/v1/participants/look", probeParticipants(participants));
  app.use(serveRoutes(functions));
  app.use(parametersRoutes(blobs));
  app.use(initialRoutes(blobs));
  app.use(servableRoutes((tenant) => ({ find: blobs.of(tenant).findOwned, read: blobs.read })));
  app.use(joinedRoutes({ work, blobs, stopping }));
  app.use((request) => {
    throw new TrainerError("NOT_FOUND", `There is no route ${request.path.slice(0, 200)}.`);
  });
  app.use(errorResponse(logger));
  return app;
}

/** A trainer node fetches parameters and passes calls of published models on, another coordinator copies blobs; everything else is for edges. */
const keepToTheirRoutes: RequestHandler = (request, _response, next) => {
  const role = callingPeer(request)?.role;
  const isBlob = (request.method === "GET" || request.method === "HEAD") && request.path.startsWith("/v1/blobs/");
  const isCopy = request.path.startsWith(COPIES_PATH);
  if (role === "trainer" && !isBlob && !isServePath(request.path))
    throw new TrainerError("FORBIDDEN", "A trainer node's certificate allows nothing but fetching parameters and serving models.");
  if (role === "coordinator" && !isCopy)
    throw new TrainerError("FORBIDDEN", "A coordinator's certificate allows nothing but copying blobs.");
  if (role === "edge" && isCopy) throw new TrainerError("FORBIDDEN", "Copies of blobs are for coordinators; use /v1/blobs.");
  next();
};
