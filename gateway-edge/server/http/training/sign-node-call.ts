import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import type { Random } from "../../../../common/random.ts";
import { SIGNATURE_HEADERS, signatureHeaders } from "../../../../common/training/call-signature.ts";
import { readBody } from "../../../calls/read-body.ts";

/** The headers that sign a call to a node, and the body if it had to be read for them. */
export interface SignedNodeCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface SigningDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly bodyBytesMax: number;
}

/**
 * Signs a proxied call with the node's secret. The signature covers the body's SHA-256, so a body whose hash is not known yet is read
 * whole, up to a limit. The node compares the hash with what arrives.
 */
export async function signNodeCall(
  request: IncomingMessage,
  { secret, path, tenant }: { secret: string; path: string; tenant: string | undefined },
  { clock, random, bodyBytesMax }: SigningDeps,
): Promise<SignedNodeCall> {
  const known = knownHash(request, path);
  const body = known === undefined ? await wholeBody(request, bodyBytesMax) : undefined;
  const bodySha256 =
    known ??
    createHash("sha256")
      .update(body ?? "")
      .digest("hex");
  const headers = { ...request.headers, "x-gw-tenant": tenant };
  return { headers: signatureHeaders(secret, { method: request.method ?? "", path, headers, bodySha256 }, { clock, random }), body };
}

/** The hash that the caller declares or that is the name of a blob; empty without a body. */
function knownHash({ method, headers }: IncomingMessage, path: string): string | undefined {
  const declared = headers[SIGNATURE_HEADERS.bodySha256];
  if (typeof declared === "string" && /^[0-9a-f]{64}$/i.test(declared)) return declared.toLowerCase();
  const blob = method === "PUT" ? /\/v1\/blobs\/([0-9a-f]{64})$/i.exec(path)?.[1] : undefined;
  if (blob !== undefined) return blob.toLowerCase();
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  return hasBody || method === "POST" ? undefined : "";
}

async function wholeBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  try {
    return await readBody(request, bytesMax);
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== "PAYLOAD_TOO_LARGE") throw thrown;
    const advice = `Send its SHA-256 in hex as ${SIGNATURE_HEADERS.bodySha256}, or store parameters with PUT /v1/blobs/{sha256} and name them in parameters_ref`;
    throw new AppError(
      "PAYLOAD_TOO_LARGE",
      `Calls to this node are signed, and the gateway reads at most ${bytesMax} bytes of a body to sign it. ${advice}.`,
      { cause: thrown },
    );
  }
}
