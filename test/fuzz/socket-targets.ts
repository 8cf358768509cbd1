import { connect } from "node:net";
import { newTenant } from "../helpers/api.ts";
import type { System } from "../helpers/system.ts";
import { CLOSING_REQUEST, callOf, type HttpGrammar, requestsOf } from "./http-grammar.ts";
import type { FuzzTarget } from "./target.ts";

const AT_ONCE = 24;
/** A request that is not whole gets no answer, so its sender ends it after this. */
const PATIENCE_MS = 250;
const LATE_MS = 3000;
/** Not implemented, not available and not in time are answers; every other 5xx is a mistake of ours. */
const INTENDED = new Set([501, 503, 504, 505]);

const CHAT = '{"model":"echo","messages":[{"role":"user","content":"hello"}],"max_tokens":5,"stream":false}';

const TRAINER: HttpGrammar = {
  credentials: ["x-gw-tenant: org_fuzz", "x-gw-api-key: a"],
  routes: [
    ["GET /health"],
    ["GET /v1/info"],
    ["GET /metrics"],
    ["GET /v1/jobs/none"],
    ["POST /train", '{"parameters":null,"dataset":{"name":"digits","limit":20},"epochs":1,"seed":1}'],
    ["POST /evaluate", '{"parameters":"AQID","dataset":{"name":"digits","limit":20}}'],
    ["POST /aggregate", '{"parameters_list":["AQID","AQID"],"weights":[1,2],"strategy":{"name":"fedavg"}}'],
    ["POST /v1/chat/completions", CHAT],
    ["PUT /v1/blobs/0000000000000000000000000000000000000000000000000000000000000000", "hello"],
    ["POST /v1/rounds/r1/close", "{}"],
  ],
};

/** Raw sockets to the edge and the trainer of a running system. */
export async function socketTargets(system: System): Promise<FuzzTarget[]> {
  const { token, key, teamId, keyId } = await newTenant(system, { creditNano: 1_000_000_000_000 });
  const edge: HttpGrammar = {
    credentials: [`authorization: Bearer ${token}`, `x-gw-api-key: ${key}`, `authorization: Bearer ${key}`, `x-api-key: ${key}`],
    routes: [
      ["GET /health/liveliness"],
      ["GET /api/auth/me"],
      ["GET /api/gw/logs?pageSize=5"],
      ["GET /api/gw/usage?groupBy=model"],
      ["GET /v1/models"],
      ["GET /ui/login"],
      ["GET /openapi.json"],
      ["POST /v1/chat/completions", CHAT],
      ["POST /v1/chat/completions", CHAT.replace("false", "true")],
      ["POST /v1/messages", '{"model":"echo","max_tokens":5,"messages":[{"role":"user","content":"hello"}]}'],
      ["POST /v1/responses", '{"model":"echo","input":"hello","store":false}'],
      ["POST /v1/embeddings", '{"model":"echo","input":["a","b"],"encoding_format":"base64"}'],
      ["POST /v1/files", '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b--\r\n'],
      ["POST /api/auth/token", '{"email":"nobody@example.org","password":"wrong password"}'],
      ["POST /api/api-keys/update", `{"token":"${keyId}","name":"renamed"}`],
      ["POST /api/gw/teams", '{"name":"fuzzed"}'],
      ["PATCH /api/gw/teams/none", '{"name":"fuzzed","models":["echo"]}'],
      [`GET /api/gw/teams/${teamId}`],
      ["POST /api/credits/purchase", '{"amountUsd":"1.00","method":"test"}'],
      ["POST /training/nodes", '{"name":"n","url":"https://node.example"}'],
      ["GET /training/nodes/node_local/v1/info"],
    ],
  };
  const calls = {
    ...edge,
    credentials: [`authorization: Bearer ${key}`, `x-api-key: ${key}`],
    routes: edge.routes.filter(([route]) => CALLS.has(route)),
  };
  return [
    socketTarget("edge-sockets", 8, system.url, edge),
    readerTarget(system.url, calls),
    socketTarget("trainer-sockets", 4, system.trainerUrl, TRAINER),
  ];
}

const CALLS = new Set(["POST /v1/chat/completions", "POST /v1/messages", "POST /v1/responses", "POST /v1/embeddings"]);
/** Of a request with this header an edge reads nothing itself (server/http1). */
const READ_BY_NODE = "te: trailers\r\n";

/** Requests of calls have the same answers whether an edge reads them from the socket or Node's server does. */
function readerTarget(url: string, grammar: HttpGrammar): FuzzTarget {
  return {
    name: "edge-readers",
    share: 4,
    atOnce: AT_ONCE,
    make: (random) => callOf(random, grammar),
    check: async (input) => {
      // An answer that was only late is in time when there is more of it.
      if ((await difference(url, input, PATIENCE_MS)) === undefined) return;
      const found = await difference(url, input, LATE_MS);
      if (found !== undefined) throw new Error(found);
    },
  };
}

async function difference(url: string, input: Buffer, patienceMs: number): Promise<string | undefined> {
  const second = input.indexOf("\r\n") + 2;
  const byNode = Buffer.concat([input.subarray(0, second), Buffer.from(READ_BY_NODE), input.subarray(second)]);
  const answered = [input, byNode].map(async (call) => statusesOf(await exchange(url, Buffer.concat([call, CLOSING_REQUEST]), patienceMs)));
  const [own = [], theirs = []] = await Promise.all(answered);
  // What follows a request and is none: Node's server refuses it at once and closes the connection, before the request has its answer.
  if (String(theirs) === "400" && own.length === 2 && own[1] === 400) return undefined;
  return String(own) === String(theirs) ? undefined : `answered ${own}, and ${theirs} where Node reads it`;
}

function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.[01] (\d{3}) [A-Z]/g)].map(([, status]) => Number(status));
}

function socketTarget(name: string, share: number, url: string, grammar: HttpGrammar): FuzzTarget {
  return {
    name,
    share,
    atOnce: AT_ONCE,
    make: (random) => requestsOf(random, grammar),
    check: async (input) => {
      const text = await exchange(url, input);
      const wrong = statusesOf(text).filter((status) => status >= 500 && !INTENDED.has(status));
      if (wrong.length > 0) throw new Error(`answered ${text.slice(0, 500)}`);
    },
  };
}

/** What comes back until the connection is closed. Rejects if nobody accepts it: then the process is gone. */
function exchange(url: string, bytes: Buffer, patienceMs = PATIENCE_MS): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  const socket = connect(Number(port), hostname);
  const impatient = setTimeout(() => socket.end(), patienceMs);
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    // A refused request may be answered by a reset while its sender still writes.
    if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
  });
  socket.on("close", () => {
    clearTimeout(impatient);
    resolve(text);
  });
  socket.write(bytes);
  return promise;
}
