import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { connectHolder } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { id } from "../../../schemas/fields.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { callMetadata, userOrKeyToken } from "../../middleware/authenticate-user.ts";
import { allowOnly } from "../../middleware/operation.ts";
import { validate } from "../../middleware/validate.ts";

const HEAD_PATH = "/training/federations/:id/parameters";
const ROUND_PATH = "/training/federations/:id/rounds/:round/parameters";
const LOOK_MS = 5000;
/** A model may have many gigabytes. */
const DELIVERY_MS_MAX = 3_600_000;
const JOIN_TOKEN = /^bearer +(join_[A-Za-z0-9_-]{20,100}) *$/i;
const ENDINGS: Readonly<Record<string, string>> = { safetensors: "safetensors", npz: "npz" };

const query = z.object({ format: z.enum(["safetensors", "npz", "raw"], "must be one of: safetensors, npz, raw").optional() });
const headParams = z.object({ id });
const roundParams = z.object({ id, round: z.coerce.number().pipe(z.int32().min(1, "must be at least 1")) });

/** A federation's parameters as a file: for its team by platform token, API key or cookie, and for a participant by its join token. */
export function federationParameters(deps: Pick<EdgeDeps, "control" | "config">): Router {
  const router = Router({ caseSensitive: true });
  router.get(HEAD_PATH, (request, response) => send(deps, { request, response, ...validate(headParams, request.params, "params") }));
  router.get(ROUND_PATH, (request, response) => send(deps, { request, response, ...validate(roundParams, request.params, "params") }));
  router.all([HEAD_PATH, ROUND_PATH], allowOnly(["GET"]));
  return router;
}

interface ParametersRequest {
  readonly request: Request;
  readonly response: Response;
  readonly id: string;
  readonly round?: number;
}

async function send(
  { control, config }: Pick<EdgeDeps, "control" | "config">,
  { request, response, id: federationId, round }: ParametersRequest,
) {
  const joinToken = JOIN_TOKEN.exec(request.headers.authorization ?? "")?.[1];
  const token = joinToken === undefined ? userOrKeyToken(request) : undefined;
  const left = new AbortController();
  response.once("close", () => left.abort());
  const look = { deadlineMs: LOOK_MS, metadata: callMetadata(request, response, token), signal: left.signal };
  const found = await control.training.findParameters({ federationId, round, joinToken }, look);
  const { format } = validate(query, request.query, "query");
  const asked = { sha256: found.blob, format, ifNoneMatch: request.get("if-none-match"), method: request.method };
  const answer = await connectHolder(config, found.holder).parameters(asked, { ...look, deadlineMs: DELIVERY_MS_MAX });
  if (answer.status !== 200 && answer.status !== 304) throw await refusal(answer, found.round);
  response.setHeader("cache-control", "private, no-cache");
  copyHeaders(answer, response, ["etag"]);
  if (answer.status === 304) return void response.status(304).end();
  copyHeaders(answer, response, ["content-type", "content-length"]);
  const ending = ENDINGS[answer.headers.get("x-parameters-format") ?? ""] ?? "bin";
  response.setHeader("content-disposition", `attachment; filename="${fileName(found)}.${ending}"`);
  if (request.method === "HEAD" || !answer.body) return void response.end();
  // Streams with backpressure. After the headers are sent, a failure can only close the connection.
  await pipeline(Readable.fromWeb(answer.body), response).catch(() => response.destroy());
}

function copyHeaders(answer: globalThis.Response, response: Response, names: readonly string[]): void {
  for (const name of names) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
}

const fileName = ({ name, round }: { name: string; round: number }): string =>
  `${
    name
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[.-]+/, "")
      .slice(0, 100) || "federation"
  }-round-${round}`;

async function refusal(answer: globalThis.Response, round: number): Promise<AppError> {
  const text = await answer.text();
  if (answer.status === 404) return new AppError("NOT_FOUND", `The coordinator no longer has the parameters of round ${round}.`);
  if (answer.status === 415 || answer.status === 422) {
    const message = String((JSON.parse(text) as { error?: unknown }).error);
    return new AppError("VALIDATION_ERROR", message, { details: [{ path: "query.format", message }] });
  }
  return new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be reached; try again later.", {
    internal: `it answered ${answer.status}: ${text.slice(0, 500)}`,
  });
}

const shared = {
  method: "get",
  tags: ["Training"],
  auth: "user",
  query,
  responses: {
    200: {
      description: "The file. `etag` is the SHA-256 of its bytes. A participant's join token is accepted too.",
      contentType: "application/octet-stream",
      schema: z.string(),
    },
    304: { description: "The file has the etag of `If-None-Match`." },
  },
} as const;

export const parametersDescriptions: readonly OperationDescription[] = [
  {
    ...shared,
    path: HEAD_PATH,
    summary: "Download a federation's newest parameters: as safetensors if possible, as npz, or as raw bytes",
    params: headParams,
  },
  { ...shared, path: ROUND_PATH, summary: "Download the parameters of a committed round", params: roundParams },
];
