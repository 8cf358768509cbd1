import type { Finding, SourceFile } from "./finding.ts";
import { withoutComments } from "./mask.ts";

/** Names that open connections, and modules and libraries that do. Imports of types open none. */
const NETWORK_IMPORT =
  /^import (?!type\b)[^;]*?from "(?:node:(?:net|tls|http|https|http2|dgram)|undici|[./]+(?:common\/)?node-http\.ts)";/gms;
const OPENING_NAME =
  /(?<!\btype )\b(?:connect|createConnection|request|get|stream|fetch|Socket|TLSSocket|Agent|Pool|Client|Dispatcher|ProxyAgent|EnvHttpProxyAgent|RetryAgent|buildConnector|createSocket|WebSocket|EventSource|setGlobalDispatcher)\b/;
const OPENING_LIBRARY =
  /^import (?!type\b)[^;]*?from "(?:nodemailer|stripe|ioredis|mongodb|google-auth-library|@grpc\/grpc-js|openid-client|ws|axios|got)[^"]*";/gms;
const OPENING_CALL =
  /(?<![\w.#$])(?:fetch\(|new (?:WebSocket|EventSource|XMLHttpRequest)\()|\bglobalThis\.fetch\(|\bgetBuiltinModule\("(?:node:)?(?:net|tls|https?|http2|dgram)"\)|\bimport\("(?:undici|ioredis|nodemailer|google-auth-library|node:(?:net|tls|https?|http2|dgram))"\)|\bimport \* as \w+ from "(?:node:(?:net|tls|https?|http2|dgram)|undici)"/g;

/** Files that may open connections, and why. Others use common/outbound.ts or common/outbound-undici.ts, which take a guard. */
export const OUTBOUND: Readonly<Record<string, string>> = {
  "common/grpc/client.ts": "the control plane's address, which the operator sets",
  "common/grpc/fail-over.ts": "opens none: it watches the connections of common/grpc/client.ts",
  "common/grpc/server.ts": "a server, which opens no connections",
  "common/grpc/status.ts": "status codes and metadata, no connections",
  "common/node-http.ts": "gives node:http to the files of this list, and to servers",
  "common/outbound-undici.ts": "the guard of undici's connections",
  "common/outbound.ts": "the guard of node:http's connections",
  "control-plane/mail/mailer.ts": "the operator's mail server",
  "control-plane/oidc/openid-client.ts": "the issuer, which the operator sets, through operatorFetch",
  "control-plane/payments/stripe.ts": "Stripe's API, at an address that the operator sets",
  "control-plane/server.ts": "a server, which opens no connections",
  "control-plane/stores/mongo/abandoned.ts": "the operator's database",
  "control-plane/stores/mongo/blobs.ts": "the operator's database",
  "control-plane/stores/mongo/driver-errors.ts": "the operator's database",
  "control-plane/stores/mongo/indexes.ts": "the operator's database",
  "control-plane/stores/mongo/quorum-feed.ts": "the operator's database",
  "control-plane/stores/mongo/sharding.ts": "the operator's database",
  "control-plane/stores/mongo/store.ts": "the operator's database",
  "gateway-edge/calls/cache/redis-cache.ts": "the operator's Redis",
  "gateway-edge/server/http/realtime/realtime-upgrade.ts": "a server, which opens no connections",
  "gateway-edge/server/http/training/joined-participants.ts":
    "a coordinator's address, which the operator sets or a coordinator gave the control plane; with TLS it proves its role",
  "gateway-edge/server/reference/code-samples.ts": "texts of samples, no connections",
  "gateway-edge/server/reference/realtime-samples.ts": "texts of samples, no connections",
  "gateway-edge/upstream/transports/google-token.ts":
    "Google's token service, and the machine's own identity, which is at a link-local address",
  "gateway-edge/upstream/transports/http1/connection.ts": "takes the guard of its origin",
  "gateway-edge/upstream/transports/http1/tunnel.ts": "the proxy, which the operator sets",
  "gateway-edge/upstream/transports/open-socket.ts": "takes the guard of its origin",
  "gateway-edge/upstream/transports/undici-transport.ts": "takes the guard of each origin; a proxy is the operator's",
  "trainer-node/http/peer.ts": "reads the certificate of an incoming connection, and opens none",
};

const isGuarded = (path: string) =>
  /^(common|control-plane|gateway-edge|trainer-node)\/.*\.ts$/.test(path) &&
  !/\.test\.ts$|-(contract|fixtures?|harness)(-\w+)?\.ts$|\/(__fixtures__|testing|gen)\//.test(path);

/** Every outbound connection has a guard, which refuses metadata services and, for tenants, the operator's network. */
export function outboundFindings({ path, text }: SourceFile): Finding[] {
  if (!isGuarded(path)) return [];
  const code = withoutComments(text);
  const imports = [...code.matchAll(NETWORK_IMPORT)].filter(([found]) => OPENING_NAME.test(found.slice(0, found.lastIndexOf(" from "))));
  const found = [...imports, ...code.matchAll(OPENING_LIBRARY), ...code.matchAll(OPENING_CALL)];
  if (OUTBOUND[path] !== undefined) return found.length === 0 ? [{ file: path, line: 1, message: "OUTBOUND lists it, and need not" }] : [];
  return found.map(({ index }) => ({
    file: path,
    line: code.slice(0, index).split("\n").length,
    message: "opens connections without a guard: use common/outbound.ts, or give the reason in OUTBOUND",
  }));
}
