import { type Request, type RequestHandler, type Response, Router } from "express";
import type { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import type { CallOptions } from "../../../common/grpc/client.ts";
import { toJson } from "../../../common/json.ts";
import { parseJson, readBody, requireJsonType } from "../../calls/read-body.ts";
import type { EdgeDeps } from "../../deps.ts";
import type { HttpMethod, OperationDescription, ResponseDescription } from "../../schemas/operation-description.ts";
import { bearerToken, callMetadata, requireAdmin, tokenIfAny, userOrKeyToken } from "./authenticate-user.ts";
import { ContentStream, sendContentStream } from "./content-stream.ts";
import { idempotencyHash, idempotencyKey } from "./idempotency.ts";
import { validate } from "./validate.ts";

const BODY_BYTES_MAX = 1024 * 1024;

export const DEADLINE_MS = {
  read: 5000,
  write: 5000,
  checkout: 20_000,
  oidc: 20_000,
  password: 15_000,
  export: 60_000,
  verify: 300_000,
  verifyAll: 3_600_000,
  backup: 3_600_000,
} as const;

/** The control plane options and the response status of one request. */
export interface OperationCall {
  /** Options of a read. It is aborted when the caller disconnects. */
  read(deadlineMs?: number): CallOptions;
  /** Options of the one write of an operation: with the Idempotency-Key, and not aborted when the caller disconnects. */
  write(deadlineMs?: number): CallOptions;
  /** Sets another success status than the declared one. */
  setStatus(status: number): void;
  /** The Last-Event-ID header of a client that resumes an event stream. */
  readonly lastEventId?: string | undefined;
}

/** One HTTP operation, declared once: route, validation, OpenAPI entry and handler. */
export interface OperationSpec<Body extends z.ZodType, Query extends z.ZodType, Params extends z.ZodType, Answer extends z.ZodType> {
  method: HttpMethod;
  path: string;
  summary: string;
  tag: string;
  /** `admin` also accepts the master key. */
  auth: "none" | "user" | "admin";
  /** No authentication is needed, but a token is passed on and may show more. */
  optionalToken?: true;
  /** Also accepts an API key, for its team. */
  apiKey?: true;
  /** The control plane proves the admin before the handler runs: for handlers that check or show something without asking it as an admin. */
  adminFirst?: true;
  body?: Body;
  query?: Query;
  params?: Params;
  /** The success status. */
  status: number;
  answer: Answer;
  /** Further responses in /openapi.json, such as another success status. */
  otherResponses?: Readonly<Record<number, ResponseDescription>>;
  handler(
    input: { body: z.output<Body>; query: z.output<Query>; params: z.output<Params> },
    call: OperationCall,
  ): Promise<z.input<Answer> | ContentStream>;
}

/** An operation as the router and /openapi.json read it. */
export interface Operation extends OperationDescription {
  readonly auth: "none" | "user" | "admin";
  readonly optionalToken: boolean;
  readonly apiKey: boolean;
  readonly adminFirst: boolean;
  readonly status: number;
  readonly idempotent: boolean;
  readonly handler: (input: { body: unknown; query: unknown; params: unknown }, call: OperationCall) => Promise<unknown>;
}

export function operation<Body extends z.ZodType, Query extends z.ZodType, Params extends z.ZodType, Answer extends z.ZodType>(
  spec: OperationSpec<Body, Query, Params, Answer>,
): Operation {
  return {
    method: spec.method,
    path: spec.path,
    summary: spec.summary,
    tags: [spec.tag],
    auth: spec.auth,
    optionalToken: spec.optionalToken ?? false,
    apiKey: spec.apiKey ?? false,
    adminFirst: spec.adminFirst ?? false,
    body: spec.body,
    query: spec.query,
    params: spec.params,
    status: spec.status,
    // The control plane stores answers encrypted, so even an answer with a token can be stored.
    idempotent: spec.method !== "get",
    responses: { [spec.status]: { description: "Success.", schema: spec.answer }, ...spec.otherResponses },
    // The cast is safe: the router passes only the output of these schemas.
    handler: spec.handler as Operation["handler"],
  };
}

/** The routes of operations. Another method on a known path is a 405 with the allowed methods. */
export function operationRouter(operations: readonly Operation[], deps: EdgeDeps): Router {
  const router = Router({ caseSensitive: true });
  // Each path gets its 405 handler right after its routes; otherwise GET "/teams/invite-member" would match "/teams/:id".
  for (const [path, entries] of Map.groupBy(operations, (entry) => entry.path)) {
    for (const entry of entries) router[entry.method](path, (request, response) => serve(entry, { request, response, deps }));
    router.all(path, allowOnly(entries.map(({ method }) => method.toUpperCase())));
  }
  return router;
}

interface OperationExchange {
  request: Request;
  response: Response;
  deps: EdgeDeps;
}

async function serve(entry: Operation, exchange: OperationExchange): Promise<void> {
  const { request, response } = exchange;
  response.locals["route"] = entry.path;
  response.statusCode = entry.status;
  // Authentication comes before validation, so that anonymous callers learn nothing about bodies.
  const token = tokenOf(entry, request);
  const call = new RequestCall(exchange, token);
  const input = await readInput(entry, request, call).catch((problem: unknown) =>
    refuseInput(entry, { call, problem, deps: exchange.deps }),
  );
  if (entry.adminFirst) await requireAdmin(exchange.deps.control, call.read());
  const answer = await entry.handler(input, call);
  if (answer instanceof ContentStream) return sendContentStream(response, answer);
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.end(toJson(answer));
}

function tokenOf({ auth, apiKey, optionalToken }: Operation, request: Request): string | undefined {
  if (auth === "none") return optionalToken ? tokenIfAny(request) : undefined;
  return apiKey || auth === "admin" ? userOrKeyToken(request) : bearerToken(request);
}

async function readInput(entry: Operation, request: Request, call: RequestCall): Promise<Parameters<Operation["handler"]>[0]> {
  const params = entry.params ? validate(entry.params, request.params, "params") : undefined;
  const query = entry.query ? validate(entry.query, request.query, "query") : undefined;
  const given = entry.body ? await readJson(request) : undefined;
  const body = entry.body ? validate(entry.body, given, "body") : undefined;
  const key = entry.idempotent ? idempotencyKey(request) : undefined;
  if (key !== undefined) {
    const hash = idempotencyHash({ method: request.method, path: request.path, body: given });
    call.idempotency = { "idempotency-key": key, "idempotency-hash": hash };
  }
  return { body, query, params };
}

async function readJson(request: Request): Promise<unknown> {
  const bytes = await readBody(request, BODY_BYTES_MAX);
  if (bytes.length === 0) return {};
  requireJsonType(request);
  return parseJson(bytes);
}

/** Throws the input's problem, but only after the token is checked: a bad token is a 401, and a caller who is not an admin a 403. */
async function refuseInput(entry: Operation, refused: { call: OperationCall; problem: unknown; deps: EdgeDeps }): Promise<never> {
  const { call, problem, deps } = refused;
  if (entry.apiKey) await deps.control.training.checkCaller({}, call.read());
  else if (entry.auth === "user") await deps.control.identity.getMe({}, call.read());
  if (entry.auth === "admin") await requireAdmin(deps.control, call.read());
  throw problem;
}

class RequestCall implements OperationCall {
  idempotency: Record<string, string> = {};
  readonly lastEventId: string | undefined;
  readonly #response: Response;
  readonly #metadata: Record<string, string | undefined>;
  readonly #left = new AbortController();

  constructor({ request, response }: OperationExchange, token: string | undefined) {
    this.#response = response;
    this.lastEventId = request.get("last-event-id");
    this.#metadata = callMetadata(request, response, token);
    response.once("close", () => this.#left.abort());
  }

  read(deadlineMs: number = DEADLINE_MS.read): CallOptions {
    return { deadlineMs, metadata: this.#metadata, signal: this.#left.signal };
  }

  write(deadlineMs: number = DEADLINE_MS.write): CallOptions {
    return {
      deadlineMs,
      metadata: { ...this.#metadata, ...this.idempotency },
      onHeader: (header) => {
        if (header["idempotent-replayed"] === "true") this.#response.setHeader("idempotent-replayed", "true");
      },
    };
  }

  setStatus(status: number): void {
    this.#response.statusCode = status;
  }
}

/** Mounted after the handlers of a path: answers OPTIONS, and refuses all other methods. */
export function allowOnly(allowed: readonly string[]): RequestHandler {
  const known = allowed.includes("GET") ? [...allowed, "HEAD", "OPTIONS"] : [...allowed, "OPTIONS"];
  return (request, response) => {
    response.setHeader("allow", known.join(", "));
    if (request.method !== "OPTIONS") {
      throw new AppError("METHOD_NOT_ALLOWED", `${request.method} is not allowed here; use ${allowed.join(" or ")}.`);
    }
    response.status(204).end();
  };
}
