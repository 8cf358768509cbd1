import { subscribe } from "node:diagnostics_channel";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

/** Larger than any batch of settlements. */
const WINDOW_BYTES = 4 * 1024 * 1024;

const widened = new WeakSet<ServerHttp2Session>();
let isWatching = false;

/**
 * Lets the clients of this process's gRPC servers send more than the 64 KB of HTTP/2's default before they hear from it. A busy edge hears once
 * in a turn of its event loop, 100 ms and more, so its settlements fell behind its calls. @grpc/grpc-js has no setting of it for servers.
 */
export function widenServerWindows(): void {
  if (isWatching) return;
  isWatching = true;
  subscribe("http2.server.stream.created", (message) => {
    const { session } = (message as { stream: ServerHttp2Stream }).stream;
    if (session === undefined || widened.has(session as ServerHttp2Session)) return;
    widened.add(session as ServerHttp2Session);
    session.settings({ initialWindowSize: WINDOW_BYTES });
    session.setLocalWindowSize(WINDOW_BYTES);
  });
}
