import type { IncomingMessage, ServerResponse } from "node:http";

/** What Node buffers of an unread body; up to this size the connection stays open. */
const SMALL_BYTES = 64 * 1024;
/** Time for the client to read the answer before its unread bytes reset the connection. */
const LINGER_MS = 500;

/**
 * Bounds how much of an unread body is received. After the response, Node keeps such a connection open and reads the body to its end, however
 * large it is. Here the response to a request with a large incomplete body has `connection: close`, nothing more is read, and
 * the socket is destroyed soon after the response. Bodies of up to 64 KiB and bodies that were read keep their connection.
 */
export function boundUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && !(Number(length) > SMALL_BYTES)) return;
  const writeHead = response.writeHead;
  response.writeHead = function (this: ServerResponse, ...head: Parameters<typeof writeHead>) {
    if (!request.complete) closeAfterAnswer(request, response);
    return writeHead.apply(this, head);
  } as typeof writeHead;
}

/** Overrides `destroySoon`, which Node calls after the last response of a connection, once it has begun to discard the rest of the body. */
function closeAfterAnswer({ socket }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  socket.destroySoon = () => {
    socket.end();
    // Waits for the next tick, when Node has begun to discard the body.
    setImmediate(() => socket.pause());
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(cut));
  };
}
