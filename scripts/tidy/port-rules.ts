import type { Finding, SourceFile } from "./finding.ts";
import { withoutComments } from "./mask.ts";

/**
 * Clocks, timers and randomness that do not come through `Clock` and `Random`. `setImmediate` is none: it gives the event loop a turn and
 * has no duration. `AbortSignal.timeout` is a limit of one call to the network, which no test waits for.
 */
const RAW =
  /\b(setTimeout|setInterval)\(|\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bMath\.random\(|^import .*\b(setTimeout|randomBytes|randomInt|randomUUID)\b|\bgetRandomValues\(/;

/** Files that may, and why. */
export const OWN_TIME: Readonly<Record<string, string>> = {
  "common/clock.ts": "the adapter of the port",
  "common/deadlines.ts": "the shared timer of that adapter",
  "common/grpc/client.ts": "grpc-js takes deadlines in wall time",
  "common/grpc/fail-over.ts": "connections that fail are replaced after a moment",
  "common/grpc/server.ts": "the grace of a server that stops",
  "common/process.ts": "the limit of a process that stops",
  "common/random.ts": "the adapter of the port",
  "common/stoppable-server.ts": "the drain of a server that stops",
  "common/unread-body.ts": "the lingering close of a socket",
  "control-plane/stores/embedded/foreign-commits.ts": "the watch over a file that other processes can write",
  "gateway-edge/calls/tokens/counting-pace.ts": "measures how long it has blocked the event loop",
  "gateway-edge/upstream/transports/http-exchange.ts": "the limit of a socket whose answer is not wanted",
  "gateway-edge/upstream/transports/http1/connection-pool.ts": "the sweep of idle sockets",
  "gateway-edge/upstream/transports/http1/connection.ts": "the connect timeout of a socket",
  "gateway-edge/upstream/transports/open-socket.ts": "the limit of a socket to a proxy",
  "trainer-node/http/body-chunks.ts": "the idle limit of a socket, renewed with every chunk",
  "trainer-node/http/jobs.ts": "the heartbeat of an open event stream",
  "trainer-node/http/read-body.ts": "the lingering close of a socket",
  "trainer-node/pool/pool.ts": "the grace of a thread that is terminated",
};

/** The console and the command line run for one person at a terminal or in a browser; nothing simulates them. */
const isGuarded = (path: string) =>
  /^(common|control-plane|gateway-edge|trainer-node)\/.*\.ts$/.test(path) &&
  !/\.test\.ts$|-(contract|fixtures?|harness)(-\w+)?\.ts$|\/(__fixtures__|testing|gen)\//.test(path);

/** Time and chance are handed in, so that tests and the simulation own them. */
export function portFindings({ path, text }: SourceFile): Finding[] {
  if (!isGuarded(path)) return [];
  const found = withoutComments(text)
    .split("\n")
    .flatMap((content, index) => (RAW.test(content) ? [index + 1] : []));
  const [first] = found;
  if (OWN_TIME[path] !== undefined) return first === undefined ? [{ file: path, line: 1, message: "OWN_TIME lists it, and need not" }] : [];
  return found.map((line) => ({
    file: path,
    line,
    message: "time or chance of its own: use Clock or Random, or give the reason in OWN_TIME",
  }));
}
