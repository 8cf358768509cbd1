import { AppError, asAppError } from "../../../../common/errors.ts";
import { operatorFetch } from "../../../../common/operator-fetch.ts";
import type { BlobNode, FindBlobResponse } from "../../../../proto/gen/tributary/training/v1/blobs.ts";
import { type BlobStorage, connectCoordinator, type Servable, servablePath } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationCall } from "../../middleware/operation.ts";

const LOOK_MS = 5000;
/** For a node that reads the whole blob. */
const READ_MS = 300_000;

/**
 * Requires a blob that the caller's organization stored, at the coordinator or on a shared node, or that its federations made. Platform
 * admins may name every stored blob. What is not a SHA-256 passes: the control plane says what is wrong with it.
 */
export async function requireOwnBlob({ control, config }: EdgeDeps, given: string, call: OperationCall, path = "body.blob"): Promise<void> {
  const blob = given.toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(blob)) return;
  const caller = await control.training.findBlob({ blob }, call.read());
  if (caller.isFederations) return;
  const tenant = caller.isOperator ? "" : caller.organizationId;
  const looks = [connectCoordinator(config).hasBlob(blob, { ...call.read(LOOK_MS), tenant }), ...nodeLooks(caller, { blob, tenant })];
  const results = await Promise.allSettled(looks);
  if (results.some((result) => result.status === "fulfilled" && result.value)) return;
  const message = `Your organization has no blob ${blob}. Upload it first: PUT /training/blobs/${blob}.`;
  const failed = results.find((result) => result.status === "rejected");
  // The blob may be at a place that does not answer, so the caller should try again, unless the coordinator says no.
  if (failed && results[0]?.status === "rejected") {
    const { internal } = asAppError(failed.reason);
    throw new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be asked for the blob; try again later.", { internal });
  }
  throw new AppError("NOT_FOUND", message, { details: [{ path, message: "is not stored for your organization" }] });
}

function nodeLooks({ nodes }: FindBlobResponse, { blob, tenant }: { blob: string; tenant: string }): Promise<boolean>[] {
  return nodes.map(async (node) => (await askNode(node, `/v1/blobs/${blob}`, { method: "HEAD", tenant })).status === 200);
}

/** The bytes that a tenant has on a node of the operator. */
export async function nodeStorage(node: BlobNode, tenant: string): Promise<BlobStorage> {
  const answer = await askNode(node, "/v1/storage", { method: "GET", tenant });
  if (!answer.ok) throw new Error(`${node.id} answered ${answer.status}`);
  const { used_bytes: used, limit_bytes: limit } = (await answer.json()) as { used_bytes: number; limit_bytes: number | null };
  return { used, limit };
}

/** Whether a tenant's blob on a node of the operator can be served; undefined if the node does not have it, or cannot tell. */
export async function servableOnNode(
  node: BlobNode,
  { blob, task, tenant }: { blob: string; task: string; tenant: string },
): Promise<Servable | undefined> {
  const answer = await askNode(node, servablePath(blob, task), { method: "GET", tenant, waitMs: READ_MS });
  return answer.ok ? ((await answer.json()) as Servable) : undefined;
}

interface NodeAsk {
  readonly method: string;
  readonly tenant: string;
  readonly waitMs?: number;
}

/** Calls a node of the operator in the name of a tenant, or of the operator with "". */
function askNode({ url, token }: BlobNode, path: string, { method, tenant, waitMs = LOOK_MS }: NodeAsk): Promise<Response> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(tenant === "" ? {} : { "x-gw-tenant": tenant }),
  };
  return operatorFetch(url + path, { method, headers, redirect: "error", signal: AbortSignal.timeout(waitMs) });
}
