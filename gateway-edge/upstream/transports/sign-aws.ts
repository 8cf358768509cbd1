import { createHash, createHmac } from "node:crypto";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Signing, UpstreamRequest } from "../providers/provider.ts";

type AwsSigning = Extract<Signing, { type: "aws-sigv4" }>;

const ALGORITHM = "AWS4-HMAC-SHA256";
/** Headers that senders and proxies set or change; signed, they would break the signature. */
const UNSIGNED = new Set([
  "authorization",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "te",
  "transfer-encoding",
  "user-agent",
]);

/** Signs a request for AWS, Signature Version 4. The result is valid for about five minutes: sign right before sending, each time anew. */
export function createAwsSigner(clock: Clock): (request: UpstreamRequest, signing: AwsSigning) => Promise<UpstreamRequest> {
  return async ({ signing: _done, ...request }, signing) => {
    if (typeof request.body !== "string") {
      throw new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal: "a streamed body cannot be signed" });
    }
    const timestamp = new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, "");
    const url = new URL(request.url);
    const headers: Record<string, string> = {
      ...lowerCased(request.headers),
      "x-amz-date": timestamp,
      ...(signing.sessionToken === undefined ? {} : { "x-amz-security-token": signing.sessionToken }),
    };
    const signed = signedHeaders({ ...headers, host: url.host });
    const names = signed.map(([name]) => name).join(";");
    const canonical = [
      request.method ?? "POST",
      canonicalPath(url.pathname, signing.service),
      canonicalQuery(url.searchParams),
      ...signed.map(([name, value]) => `${name}:${value}`),
      "",
      names,
      sha256(request.body),
    ].join("\n");
    const scope = [timestamp.slice(0, 8), signing.region, signing.service, "aws4_request"];
    const text = [ALGORITHM, timestamp, scope.join("/"), sha256(canonical)].join("\n");
    const key = scope.reduce<string | Buffer>((secret, step) => hmac(secret, step).digest(), `AWS4${signing.secretAccessKey}`);
    const signature = hmac(key, text).digest("hex");
    const credential = `${signing.accessKeyId}/${scope.join("/")}`;
    const authorization = `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
    return { ...request, headers: { ...headers, authorization } };
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function signedHeaders(headers: Readonly<Record<string, string>>): [name: string, value: string][] {
  return Object.entries(headers)
    .filter(([name]) => !UNSIGNED.has(name))
    .map(([name, value]): [string, string] => [name, value.trim().replace(/\s+/g, " ")])
    .sort(byFirst);
}

/**
 * All services but S3 require the path encoded once more than on the wire: the `%3A` of a model id is signed as `%253A`. `URL` has already
 * resolved dots and double slashes.
 */
function canonicalPath(pathname: string, service: string): string {
  if (service === "s3") return pathname;
  return pathname.split("/").map(encode).join("/");
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .map(([name, value]): [string, string] => [encode(name), encode(value)])
    .sort((left, right) => byFirst(left, right) || compare(left[1], right[1]))
    .map((pair) => pair.join("="))
    .join("&");
}

/** All but the unreserved characters of RFC 3986; encodeURIComponent leaves five more. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function byFirst(left: readonly [string, string], right: readonly [string, string]): number {
  return compare(left[0], right[0]);
}

/** By code unit: a locale would sort differently. */
function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

function hmac(key: string | Buffer, text: string) {
  return createHmac("sha256", key).update(text, "utf8");
}
