import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { type Peer, peerOf } from "../../common/peers/peer.ts";

/** The process that a request comes from, if it presented a certificate of TLS_CA. */
export function callingPeer({ socket }: Pick<IncomingMessage, "socket">): Peer | undefined {
  if (!(socket instanceof TLSSocket && socket.authorized)) return undefined;
  return peerOf(socket.getPeerX509Certificate()?.subjectAltName);
}
