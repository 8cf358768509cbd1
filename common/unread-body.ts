import type { IncomingMessage, ServerResponse } from "node:http";

/** What Node buffers of a body that is not read: so much is not worth a connection. */
const SMALL_BYTES = 64 * 1024;
/** Time for the client to read the answer before its unread bytes reset the connection. */
const LINGER_MS = 500;

/**
 * Bounds what is taken of a body that is not read. Node keeps such a connection open after the answer and reads the body to its end, however
 * large it was announced. Here the answer to a request whose large body is not complete says `connection: close`, nothing more is read, and
 * the socket is destroyed soon after the answer. Bodies of up to 64 KiB, and those that were read, keep their connection.
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

/** By `destroySoon`, which Node calls after the last answer of a connection, once it has begun to discard the rest of the body. */
function closeAfterAnswer({ socket }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  socket.destroySoon = () => {
    socket.end();
    // After the next tick: only then has Node begun to discard the body, and would go on with it.
    setImmediate(() => socket.pause());
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(cut));
  };
}
