import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { OPERATOR_GUARD } from "../../../../common/outbound.ts";
import type { Address } from "../address.ts";
import type { UpstreamProxy } from "../proxies.ts";

const HEAD_BYTES_MAX = 16 * 1024;
const HEAD_END = "\r\n\r\n";

/** A proxy that does not open a tunnel. */
class TunnelRefused extends Error {
  readonly code = "EPROXY";

  constructor(proxy: UpstreamProxy, answer: string) {
    super(`the proxy ${proxy.host}:${proxy.port} opened no tunnel to the upstream: ${answer}`);
  }
}

/**
 * Opens a connection to a proxy and asks it for a tunnel to an upstream. `onOpen` is called when the next bytes are the upstream's; a
 * failure destroys the socket with an error.
 */
export function openTunnel(proxy: UpstreamProxy, { host, port }: Pick<Address, "host" | "port">, onOpen: () => void): Socket {
  const socket = connectTo(proxy);
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const authorization = proxy.authorization === undefined ? "" : `proxy-authorization: ${proxy.authorization}\r\n`;
  socket.once(proxy.isTls ? "secureConnect" : "connect", () =>
    socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${authorization}\r\n`),
  );
  let head = "";
  const read = () => {
    for (let bytes = socket.read() as Buffer | null; bytes; bytes = socket.read() as Buffer | null) head += bytes.toString("latin1");
    const end = head.indexOf(HEAD_END);
    if (end < 0 && head.length <= HEAD_BYTES_MAX) return;
    socket.off("readable", read).off("end", ended);
    // An upstream says nothing before the greeting of TLS: further bytes are the body of a refusal.
    if (/^HTTP\/1\.[01] 2\d\d /.test(head) && end === head.length - HEAD_END.length) onOpen();
    else socket.destroy(new TunnelRefused(proxy, head.slice(0, Math.min(head.indexOf("\r\n"), 200))));
  };
  // Without an answer the connection would end without an error.
  const ended = () => socket.destroy(new TunnelRefused(proxy, "it closed the connection"));
  return socket.on("readable", read).once("end", ended);
}

/** The proxy is the operator's, so that it may have a private address. */
function connectTo({ host, port, isTls }: UpstreamProxy): Socket {
  OPERATOR_GUARD.checkHost(host);
  const { lookup } = OPERATOR_GUARD;
  if (!isTls) return connectTcp({ host, port, lookup });
  return connectTls({
    host,
    port,
    lookup,
    servername: isIP(host) === 0 ? host : "",
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
  });
}
