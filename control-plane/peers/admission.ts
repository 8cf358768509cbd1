import { timingSafeEqual } from "node:crypto";
import { AppError } from "../../common/errors.ts";
import type { Admit, IncomingCall } from "../../common/grpc/server.ts";
import { CONTROL_TOKEN_KEY } from "../../common/peers/control-token.ts";
import { type Peer, peerOf } from "../../common/peers/peer.ts";
import { FORWARDED_KEY } from "./forward.ts";
import type { RefuseCall } from "./refusals.ts";
import { foreignEdgeId, rolesOf } from "./roles.ts";

/** Probes of load balancers know no token, and the answer is only whether this process serves. */
const OPEN_METHOD = "/grpc.health.v1.Health/Check";

/** Admits calls of processes that present a token of this control plane. */
export function admitByToken(tokens: readonly string[]): Admit {
  const accepted = tokens.map((token) => Buffer.from(token));
  return (path, { metadata }) => {
    if (path === OPEN_METHOD) return undefined;
    const [given] = metadata.get(CONTROL_TOKEN_KEY);
    if (given === undefined) return refusal("The call has no control token.");
    const presented = Buffer.from(given);
    // The lengths are no secret: every token that is made has the same.
    const isAccepted = accepted.some((token) => token.length === presented.length && timingSafeEqual(token, presented));
    return isAccepted ? undefined : refusal("The control token is not this control plane's.");
  };
}

/**
 * Admits calls of processes whose certificate has a role that may make them, edges under their own ids only. The handshake has checked that
 * our authority issued the certificate.
 */
export function admitByCertificate(refuse: RefuseCall): Admit {
  return (path, call, request) => {
    const peer = callerOf(call);
    if (peer === undefined) return new AppError("UNAUTHORIZED", "The certificate names no role (tributary://role/name).");
    if (!rolesOf(path).includes(peer.role)) {
      return refuse(peer, { path, target: path, reason: `A process of the role ${peer.role} may not call ${path}.` });
    }
    const target = foreignEdgeId(path, request, peer.name);
    if (target === undefined) return undefined;
    return refuse(peer, {
      path,
      target,
      reason: `The edge id ${JSON.stringify(target)} does not belong to the certificate of ${peer.name}.`,
    });
  };
}

/** Who makes a call: the process at the other end or, if that is a control plane which forwards it, the one that it names. */
function callerOf(call: IncomingCall): Peer | undefined {
  const peer = peerOf(call.getAuthContext().sslPeerCertificate?.subjectaltname);
  const [forwarded] = call.metadata.get(FORWARDED_KEY);
  if (peer?.role !== "control-plane" || forwarded === undefined) return peer;
  return peerOf(`URI:${forwarded}`);
}

const ADVICE =
  "Set the same CONTROL_TOKEN for the control plane and this process, let them use the same DATA_DIR, or use certificates (TLS_CERT).";

const refusal = (reason: string): AppError => new AppError("UNAUTHORIZED", `${reason} ${ADVICE}`);
