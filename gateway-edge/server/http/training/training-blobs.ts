import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { ignore } from "../../../../common/ignore.ts";
import { toJson } from "../../../../common/json.ts";
import { allowSlowBody } from "../../../../common/slow-body.ts";
import { type BlobCall, connectCoordinator } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { callMetadata, userOrKeyHeader } from "../../middleware/authenticate-user.ts";
import { allowOnly } from "../../middleware/operation.ts";
import { validate } from "../../middleware/validate.ts";

const PATH = "/training/blobs/:sha256";
const LOOK_MS = 5000;
/** A model may have many gigabytes. */
const TRANSFER_MS_MAX = 3_600_000;

const params = z.object({
  sha256: z
    .string()
    .toLowerCase()
    .regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the bytes, 64 hex digits"),
});
const answer = z.object({ blob: z.object({ sha256: z.string(), bytes: z.int() }) });

type Deps = Pick<EdgeDeps, "control" | "config">;

interface Client {
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  readonly metadata: Record<string, string | undefined>;
}

/**
 * `/training/blobs/{sha256}`: parameters that an organization uploads to the coordinator, to publish them or to start a federation from
 * them. Other organizations do not see them.
 */
export function trainingBlobs(deps: Deps): Router {
  const router = Router({ caseSensitive: true });
  router.get(PATH, (request, response) => read(deps, request, response));
  router.put(PATH, (request, response) => upload(deps, request, response));
  router.delete(PATH, (request, response) => remove(deps, request, response));
  router.all(PATH, allowOnly(["GET", "PUT", "DELETE"]));
  return router;
}

async function read(deps: Deps, request: Request, response: Response): Promise<void> {
  const { sha256, caller, client } = await open(deps, request, response);
  // Results of federations of earlier releases have no owner at the coordinator; the control plane knows them.
  const tenant = caller.isOperator || caller.isFederations ? "" : caller.organizationId;
  const method = request.method === "HEAD" ? "HEAD" : "GET";
  const found = await ask(deps, { sha256, tenant, method }, client);
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("cache-control", "private, no-cache");
  for (const name of ["etag", "content-length"]) response.setHeader(name, found.headers.get(name) ?? "");
  response.setHeader("content-disposition", `attachment; filename="${sha256}.bin"`);
  if (method === "HEAD" || !found.body) return void response.end();
  await ignore(pipeline(Readable.fromWeb(found.body), response), "it closes the connection, which is the only way to report it");
}

async function upload(deps: Deps, request: Request, response: Response): Promise<void> {
  const { sha256, caller, client } = await open(deps, request, response);
  allowSlowBody(request);
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  const call: BlobCall = { sha256, tenant: caller.organizationId, method: "PUT", body, bytes: request.get("content-length") };
  const stored = await ask(deps, call, client);
  const { bytes } = (await stored.json()) as { bytes: number };
  response
    .status(stored.status)
    .type("application/json")
    .end(toJson({ blob: { sha256, bytes } }));
}

async function remove(deps: Deps, request: Request, response: Response): Promise<void> {
  const { sha256, caller, client } = await open(deps, request, response);
  if (caller.publishedAs !== "") {
    const message = `The model ${caller.publishedAs} was published with these parameters, so they stay.`;
    throw new AppError("RECORD_CHANGED", message, { details: [{ path: "params.sha256", message: "is in use" }] });
  }
  await ask(deps, { sha256, tenant: caller.organizationId, method: "DELETE" }, client);
  response.status(204).end();
}

async function open({ control }: Deps, request: Request, response: Response) {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const metadata = callMetadata(request, response, userOrKeyHeader(request));
  const { sha256 } = validate(params, request.params, "params");
  const caller = await control.training.findBlob({ blob: sha256 }, { deadlineMs: LOOK_MS, metadata, signal: left.signal });
  return { sha256, caller, client: { signal: left.signal, metadata } };
}

/** The coordinator's answer, if it is a success. */
async function ask({ config }: Deps, call: BlobCall, client: Client): Promise<globalThis.Response> {
  const answered = await connectCoordinator(config).blob(call, { deadlineMs: TRANSFER_MS_MAX, ...client });
  if (answered.ok) return answered;
  const text = await answered.text();
  if (answered.status === 404) throw new AppError("NOT_FOUND", `Your organization has no blob ${call.sha256}.`);
  if (answered.status === 413) throw new AppError("PAYLOAD_TOO_LARGE", messageOf(text));
  if (answered.status === 422) throw new AppError("VALIDATION_ERROR", messageOf(text));
  throw new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be reached; try again later.", {
    internal: `it answered ${answered.status}: ${text.slice(0, 500)}`,
  });
}

const messageOf = (text: string): string => String((JSON.parse(text) as { error?: unknown }).error);

const shared = { tags: ["Training"], auth: "user", path: PATH, params } as const;
const NOT_FOUND = { 404: { description: "No blob of the caller's organization." } };

export const blobDescriptions: readonly OperationDescription[] = [
  {
    ...shared,
    method: "put",
    summary: "Upload parameters under the SHA-256 of their bytes, by token or API key; only your organization can read and name them",
    responses: {
      201: { description: "Stored.", schema: answer },
      200: { description: "The organization had it already.", schema: answer },
      400: { description: "The bytes do not match the SHA-256." },
      413: { description: "The blob is too large, or the organization's limit of blob bytes is reached." },
    },
  },
  {
    ...shared,
    method: "get",
    summary: "Download a blob that your organization uploaded or that its federations made",
    responses: { 200: { description: "The bytes.", contentType: "application/octet-stream", schema: z.string() }, ...NOT_FOUND },
  },
  {
    ...shared,
    method: "delete",
    summary: "Delete a blob that your organization uploaded",
    responses: { 204: { description: "Deleted." }, 409: { description: "A model was published with it." }, ...NOT_FOUND },
  },
];
