import { timingSafeEqual } from "node:crypto";
import { AppError } from "../../common/errors.ts";
import type { Admit } from "../../common/grpc/server.ts";
import { CONTROL_TOKEN_KEY } from "../../common/peers/control-token.ts";
import { peerOf } from "../../common/peers/peer.ts";

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

/** Admits calls of processes whose certificate says who they are. The handshake has checked that our authority issued it. */
export function admitByCertificate(): Admit {
  return (_path, call) => {
    const peer = peerOf(call.getAuthContext().sslPeerCertificate?.subjectaltname);
    return peer === undefined ? new AppError("UNAUTHORIZED", "The certificate names no role (tributary://role/name).") : undefined;
  };
}

const ADVICE =
  "Set the same CONTROL_TOKEN for the control plane and this process, let them use the same DATA_DIR, or use certificates (TLS_CERT).";

const refusal = (reason: string): AppError => new AppError("UNAUTHORIZED", `${reason} ${ADVICE}`);
