import { gzipSync } from "node:zlib";
import type { Chance } from "../faults/chance.ts";
import { mutated, randomBytes } from "./mutate.ts";

/** What requests to one server are made of. */
export interface HttpGrammar {
  /** `METHOD path` of real routes, and a body that the route takes. */
  readonly routes: readonly (readonly [route: string, body?: string])[];
  /** Header lines that prove who calls. */
  readonly credentials: readonly string[];
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "BREW", ""];
const VERSIONS = ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/1.", "http/1.1", ""];
const TARGET_TAILS = [
  "?a=b",
  "?a=%00",
  "?%ff=1",
  "/..",
  "/%2e%2e/",
  "//",
  "%0d%0a",
  ";a",
  "#f",
  "?limit=-1&page=1e9",
  `?q=${"a".repeat(3000)}`,
  "\u0000",
  " x",
];
const HEADERS = [
  "transfer-encoding: chunked",
  "transfer-encoding: gzip, chunked",
  "content-length: 0",
  "content-length: 99999999999",
  "content-encoding: gzip",
  "content-encoding: br",
  "content-type: text/plain",
  "content-type: application/json; charset=utf-16",
  "content-type: multipart/form-data; boundary=b",
  "content-type: multipart/form-data",
  "content-type: application/octet-stream",
  "content-type: ,;=",
  "expect: 100-continue",
  "expect: something",
  "connection: upgrade",
  "connection: keep-alive, x-a",
  "upgrade: websocket",
  "upgrade: h2c",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  "range: bytes=0-,5-1,-0",
  "if-none-match: *",
  "idempotency-key: fuzz",
  "idempotency-key: ",
  "prefer: respond-async",
  "accept: text/html;q=0.x",
  "accept-encoding: gzip;q=9, *;q=0",
  "cookie: __Host-tributary=a.b.c; a=;;=",
  "origin: null",
  "origin: https://evil.example",
  "authorization: Bearer a.b.c",
  "authorization: Basic Og==",
  "x-gw-api-key: sk-",
  "x-request-id: ../../x",
  "x-forwarded-for: ::ffff:1.2.3.4, unknown",
  "x-train-config: {",
  "host: a:b:c",
  "trailer: content-length",
];
const JSON_VALUES = [
  "null",
  "-1",
  "1e400",
  "9007199254740993",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  "[]",
  "{}",
  '{"__proto__":{}}',
  "[[[[[[[[]]]]]]]]",
  "true",
  `"${"x".repeat(2000)}"`,
];

/** The last request of a connection that was kept. */
export const CLOSING_REQUEST = Buffer.from("GET /health/liveliness HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");

/** One request that ends its connection, or one that does not and another that does, sent together. */
export function requestsOf(random: Chance, grammar: HttpGrammar): Buffer {
  if (random.happens(0.5)) return requestOf(random, grammar, ["connection: close"]);
  return Buffer.concat([requestOf(random, grammar), CLOSING_REQUEST]);
}

/** A request that is right in most of its parts and wrong in some. */
function requestOf(random: Chance, { routes, credentials }: HttpGrammar, last: readonly string[] = []): Buffer {
  const [route, routeBody = ""] = random.pick(routes);
  const [routeMethod = "GET", path = "/"] = route.split(" ");
  const method = mostly(random, routeMethod, METHODS);
  const target = random.happens(0.2) ? path + random.pick(TARGET_TAILS) : path;
  const version = mostly(random, "HTTP/1.1", VERSIONS);
  const { lines, bytes } = framed(random, bodyOf(random, routeBody));
  const own = ["host: localhost", ...last, ...(random.happens(0.7) ? [random.pick(credentials)] : []), ...lines];
  const extra = Array.from({ length: random.happens(0.5) ? random.between(1, 4) : 0 }, () => random.pick(HEADERS));
  const headers = [...own.filter(() => !random.happens(0.03)), ...extra];
  const end = mostly(random, "\r\n", ["\n", "\r", "\r\n\r\n", " \r\n"]);
  const head = [`${method} ${target} ${version}`, ...headers, "", ""].join(end);
  const request = Buffer.concat([Buffer.from(head, "latin1"), bytes]);
  return random.happens(0.25) ? mutated(random, request) : request;
}

/** A request of a call with any further headers and any body, whose head has only whole lines. */
export function callOf(random: Chance, { routes, credentials }: HttpGrammar): Buffer {
  const [route, routeBody = ""] = random.pick(routes);
  const { lines, bytes } = framed(random, bodyOf(random, routeBody));
  // A repeated key has the answer of the request before it.
  const any = HEADERS.filter((line) => !line.startsWith("idempotency-key"));
  const extra = Array.from({ length: random.below(4) }, () => random.pick(any));
  const head = [`${route} HTTP/1.1`, "host: localhost", random.pick(credentials), ...lines, ...extra, "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

function mostly(random: Chance, right: string, others: readonly string[]): string {
  return random.happens(0.93) ? right : random.pick(others);
}

function bodyOf(random: Chance, text: string): Buffer {
  if (random.happens(0.3)) return Buffer.from(text);
  if (random.happens(0.1)) return randomBytes(random, random.below(200));
  if (random.happens(0.5)) return mutated(random, Buffer.from(text));
  // One value of the JSON text is replaced by another.
  const values = [...text.matchAll(/(?<=:)("[^"]*"|[\d.]+|null|true|\[[^\]]*\])/g)];
  if (values.length === 0) return Buffer.from(random.pick(JSON_VALUES));
  const { index, 0: value } = random.pick(values);
  return Buffer.from(text.slice(0, index) + random.pick(JSON_VALUES) + text.slice(index + value.length));
}

/** A body with a length, in chunks, or with a framing that does not fit. */
function framed(random: Chance, body: Buffer): { lines: string[]; bytes: Buffer } {
  const type = body.length === 0 ? [] : ["content-type: application/json"];
  if (body.length === 0 && random.happens(0.8)) return { lines: type, bytes: body };
  switch (random.below(8)) {
    case 0:
      return { lines: [...type, `content-length: ${Math.max(0, body.length + random.between(-3, 3))}`], bytes: body };
    case 1:
      return { lines: [...type, "transfer-encoding: chunked"], bytes: chunks(random, body) };
    case 2:
      return { lines: [...type, "transfer-encoding: chunked"], bytes: mutated(random, chunks(random, body)) };
    case 3: {
      const packed = gzipSync(body);
      return { lines: [...type, "content-encoding: gzip", `content-length: ${packed.length}`], bytes: packed };
    }
    default:
      return { lines: [...type, `content-length: ${body.length}`], bytes: body };
  }
}

function chunks(random: Chance, body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const part = body.subarray(at, at + random.between(1, 40));
    parts.push(Buffer.from(`${part.length.toString(16)}${random.happens(0.1) ? ";a=b" : ""}\r\n`), part, Buffer.from("\r\n"));
    at += part.length;
  }
  return Buffer.concat([...parts, Buffer.from(random.happens(0.9) ? "0\r\n\r\n" : "0\r\nx-trailer: a\r\n\r\n")]);
}
