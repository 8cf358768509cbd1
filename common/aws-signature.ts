import { createHash, createHmac } from "node:crypto";

/** Who signs, and for which service of AWS or of a server that speaks its API. */
export interface AwsSigning {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
  readonly service: string;
}

/** A request before it is signed. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hex. */
  readonly payload: string;
}

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

/**
 * The headers of a request, signed for AWS by Signature Version 4. They are valid for about five minutes: sign right before sending, each
 * time anew.
 */
export function signAws({ method, payload, ...request }: UnsignedRequest, signing: AwsSigning, now: number): Record<string, string> {
  const timestamp = new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, "");
  const url = new URL(request.url);
  const headers: Record<string, string> = {
    ...lowerCased(request.headers),
    "x-amz-date": timestamp,
    ...(signing.sessionToken === undefined ? {} : { "x-amz-security-token": signing.sessionToken }),
  };
  const signed = signedHeaders({ ...headers, host: url.host });
  const names = signed.map(([name]) => name).join(";");
  const canonical = [
    method,
    canonicalPath(url.pathname, signing.service),
    canonicalQuery(url.searchParams),
    ...signed.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    payload,
  ].join("\n");
  const scope = [timestamp.slice(0, 8), signing.region, signing.service, "aws4_request"];
  const text = [ALGORITHM, timestamp, scope.join("/"), sha256(canonical)].join("\n");
  const key = scope.reduce<string | Buffer>((secret, step) => hmac(secret, step).digest(), `AWS4${signing.secretAccessKey}`);
  const signature = hmac(key, text).digest("hex");
  const credential = `${signing.accessKeyId}/${scope.join("/")}`;
  return { ...headers, authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}` };
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
