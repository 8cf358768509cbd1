import { subscribe } from "node:diagnostics_channel";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

/** Larger than any batch of settlements. */
const WINDOW_BYTES = 4 * 1024 * 1024;

const prepared = new WeakSet<ServerHttp2Session>();
let isWatching = false;

/** Prepares each connection to a gRPC server of this process for what @grpc/grpc-js has no setting of. */
export function prepareServerSessions(): void {
  if (isWatching) return;
  isWatching = true;
  subscribe("http2.server.stream.created", (message) => {
    const session = (message as { stream: ServerHttp2Stream }).stream.session as ServerHttp2Session | undefined;
    if (session === undefined || prepared.has(session)) return;
    prepared.add(session);
    widenWindow(session);
    rememberCertificate(session);
  });
}

/**
 * Lets a client send more than the 64 KB of HTTP/2's default before it hears from us. A busy edge hears once in a turn of its event loop, 100 ms and
 * more, so its settlements fell behind its calls.
 */
function widenWindow(session: ServerHttp2Session): void {
  session.settings({ initialWindowSize: WINDOW_BYTES });
  session.setLocalWindowSize(WINDOW_BYTES);
}

type TlsSocket = Extract<ServerHttp2Session["socket"], { getPeerCertificate: unknown }>;

/** The peer's certificate is decoded once. grpc-js asks for it at every call, and it cannot change: HTTP/2 knows no new handshake in a connection. */
function rememberCertificate(session: ServerHttp2Session): void {
  const socket = session.socket as TlsSocket;
  const decode: TlsSocket["getPeerCertificate"] | undefined = socket.getPeerCertificate;
  // A connection without TLS.
  if (decode === undefined) return;
  const certificate = decode();
  socket.getPeerCertificate = ((isDetailed?: boolean) => (isDetailed ? decode(true) : certificate)) as typeof decode;
}
