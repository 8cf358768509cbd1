import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { OpenCalls } from "../../gateway-edge/calls/open-calls.ts";
import { readEdgeConfig } from "../../gateway-edge/config.ts";
import type { Operation } from "../../gateway-edge/server/middleware/operation.ts";
import { fakeControlPlane } from "../../gateway-edge/server/platform/control-plane-fixture.ts";
import { platformOperations } from "../../gateway-edge/server/platform/operations.ts";
import { createMemoryRecords } from "../../gateway-edge/stored/records/memory-records-fixture.ts";
import { type Answer, type CallOptions, call } from "../helpers/api.ts";
import * as records from "./records.ts";

/** The table that the edge serves, without its work: what generated tests are made from. */
export const operations: readonly Operation[] = platformOperations({
  config: readEdgeConfig({}),
  control: fakeControlPlane({}).control,
  records: createMemoryRecords({ clock: systemClock }),
  clock: systemClock,
  random: systemRandom,
  openCalls: new OpenCalls(),
  logger: silentLogger,
});

export const nameOf = ({ method, path }: Pick<Operation, "method" | "path">): string => `${method} ${path}`;

/** An error of the platform: its status, its code, its shape and the headers that go with it. */
export function expectError(answer: Answer, status: number, code: string, path?: string): void {
  if (answer.status !== status || answer.body?.code !== code)
    throw new Error(`expected ${status} ${code}: ${answer.status} ${answer.text}`);
  records.expectShape(records.platformError, answer.body);
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  if (status === 401) expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
  if (path === undefined) return;
  expect(answer.body.details).toEqual(expect.arrayContaining([expect.objectContaining({ path: expect.stringContaining(path) })]));
}

/** An error of the gateway, with real nulls and the headers of every answer. */
export function expectGatewayError(answer: Answer, status: number, type: string, code: string | null): void {
  if (answer.status !== status) throw new Error(`expected ${status}: ${answer.status} ${answer.text}`);
  records.expectShape(records.gatewayError, answer.body);
  expect(answer.body.error).toMatchObject({ type, code });
  expect(answer.headers.get("x-request-id")).toBeTruthy();
  expect(answer.headers.get("x-gw-call-id")).toBeTruthy();
  if (status === 401) expect(answer.headers.get("www-authenticate")).toBeTruthy();
  if (status === 403) expect(answer.headers.get("x-should-retry")).toBe("false");
}

/** Asks until it is as wanted; what is left of a second says whether "within a second" holds. */
export async function within(ms: number, ask: () => Promise<Answer>, wanted: (answer: Answer) => boolean): Promise<Answer> {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (Date.now() > end) throw new Error(`not within ${ms} ms; last: ${answer.status} ${answer.text.slice(0, 500)}`);
    await sleep(20);
  }
}

export interface RawAnswer {
  status: number;
  text: string;
  /** The server ended the connection. */
  isClosed: boolean;
}

/** Bytes as they are on a socket of their own; what came back until the server or `waitMs` ended it. */
export async function raw(url: string, bytes: string | Buffer, waitMs = 3000): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  const isClosed = await Promise.race([once(socket, "close").then(() => true), sleep(waitMs, false, { ref: false })]);
  socket.destroy();
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, isClosed };
}

/** A request with every header line as given, duplicates too; the connection is closed by the server after it. */
export function rawRequest(url: string, method: string, path: string, headers: readonly [string, string][], body = ""): Promise<RawAnswer> {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const length = body === "" ? "" : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return raw(url, `${method} ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\n${length}${lines}\r\n${body}`);
}

export function rawHeader({ text }: RawAnswer, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\r$`, "im").exec(text.split("\r\n\r\n")[0] ?? "")?.[1];
}

/** A path with its parameters filled in, and a query. */
export function pathOf(path: string, params: Readonly<Record<string, string>> = {}, query: Readonly<Record<string, string>> = {}): string {
  const filled = path.replace(/:(\w+)/g, (_match, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams(query).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

/** The fields of a body or query schema, nested ones with a dot, with what JSON may stand there. */
export function fieldsOf(schema: z.ZodType | undefined): { path: string[]; types: Set<string> }[] {
  if (!schema) return [];
  return walk(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema, []);
}

interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
  openapi?: JsonSchema;
  enum?: unknown[];
}

function walk(schema: JsonSchema, path: string[]): { path: string[]; types: Set<string> }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const here = [...path, name];
    const nested = [inner, ...(inner.anyOf ?? [])].flatMap((variant) => walk(variant, here));
    return [{ path: here, types: typesOf(inner) }, ...nested];
  });
}

function typesOf(schema: JsonSchema): Set<string> {
  const own = schema.openapi?.type ?? schema.type ?? (schema.enum ? "string" : []);
  const variants = (schema.anyOf ?? []).flatMap((variant) => [...typesOf(variant)]);
  return new Set([...(Array.isArray(own) ? own : [own]), ...variants]);
}

/** Runs over many with a few at once: the edge is asked as by many clients, and the file stays quick. */
export async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>, atOnce = 8): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Everything an owner can see of the organization, for a comparison before and after. */
export async function dump(url: string, token: string): Promise<Record<string, unknown>> {
  const paths = [
    "/api/auth/me",
    "/api/gw/organizations/list",
    "/api/gw/teams",
    "/api/api-keys?pageSize=100",
    "/api/balance",
    "/api/quota",
    "/api/credits/purchases?pageSize=100",
    "/api/credits/ledger?pageSize=100",
    "/api/gw/logs?pageSize=100",
    "/api/gw/usage?groupBy=key",
    "/api/gw/webhooks",
    "/api/gw/mcp-servers",
    "/api/gw/alerts",
  ];
  const seen: Record<string, unknown> = {};
  for (const path of paths) seen[path] = (await call(url, "GET", path, { token })).body;
  // When an alert was judged last changes by itself.
  const { data: alerts } = seen["/api/gw/alerts"] as { data: Record<string, unknown>[] };
  seen["/api/gw/alerts"] = alerts.map(({ checkedAt: _, ...alert }) => alert);
  for (const { id } of (seen["/api/gw/teams"] as { data: { id: string }[] }).data) {
    seen[id] = (await call(url, "GET", `/api/gw/teams/${id}`, { token })).body;
  }
  return seen;
}

export type Ask = (method: string, path: string, options?: CallOptions) => Promise<Answer>;
