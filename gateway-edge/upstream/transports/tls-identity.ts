import { createHash } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import type { UpstreamTls } from "../providers/provider.ts";

/** PEM texts of a deployment: the authorities that its server's certificate is checked with, and the certificate that it asks for. */
export interface TlsPems {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

const contexts = new WeakMap<UpstreamTls, SecureContext>();

/** Equal texts have equal ids, so that deployments share connections, and a rotated certificate opens new ones. */
export function upstreamTls({ ca, cert, key }: TlsPems): UpstreamTls {
  const id = createHash("sha256")
    .update(JSON.stringify([ca, cert, key]))
    .digest("base64url");
  return { id, ca, cert, key };
}

/** Parsed with the first connection. Throws for a text that is not PEM. */
export function secureContextOf(tls: UpstreamTls): SecureContext {
  const known = contexts.get(tls);
  if (known) return known;
  const context = createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key });
  contexts.set(tls, context);
  return context;
}
