import { createPrivateKey, X509Certificate } from "node:crypto";

/** PEM texts of the TLS connections to a provider. */
export interface UpstreamTls {
  /** Authorities that issued the certificate of the server; they replace those that are trusted otherwise. */
  ca?: string | undefined;
  clientCertificate?: string | undefined;
  clientKey?: string | undefined;
}

/** What is wrong, and with which of the texts. */
export interface UpstreamTlsProblem {
  field: keyof UpstreamTls;
  message: string;
}

/** Undefined: a connection can be made with them. */
export function upstreamTlsProblem({ ca, clientCertificate, clientKey }: UpstreamTls): UpstreamTlsProblem | undefined {
  const broken = (field: keyof UpstreamTls, message: string) => ({ field, message });
  if (ca !== undefined && !isReadable(() => new X509Certificate(ca))) return broken("ca", "is not a certificate in PEM");
  if (clientCertificate === undefined && clientKey === undefined) return undefined;
  if (clientCertificate === undefined) return broken("clientCertificate", "is missing: the key has no certificate");
  if (clientKey === undefined) return broken("clientKey", "is missing: the certificate has no key");
  if (!isReadable(() => new X509Certificate(clientCertificate))) return broken("clientCertificate", "is not a certificate in PEM");
  if (!isReadable(() => createPrivateKey(clientKey))) return broken("clientKey", "is not an unencrypted private key in PEM");
  const isPair = new X509Certificate(clientCertificate).checkPrivateKey(createPrivateKey(clientKey));
  return isPair ? undefined : broken("clientKey", "is not the key of the certificate");
}

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
