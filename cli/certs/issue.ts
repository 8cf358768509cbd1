import type { webcrypto } from "node:crypto";
import type { X509Certificate } from "@peculiar/x509";
import { type Peer, peerUri } from "../../common/peers/peer.ts";

/** A certificate and its private key, as PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that can issue certificates. */
export interface Authority {
  readonly cert: string;
  readonly key: string;
  issue(peer: Peer, options: { hosts: readonly string[]; days: number }): Promise<Issued>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3650;
/** Machines whose clocks are a little behind accept a new certificate too. */
const BEHIND_MS = 300_000;
/** Roles that others connect to. The certificate of a role that only connects cannot be a server's. */
const SERVERS: ReadonlySet<Peer["role"]> = new Set(["control-plane", "coordinator", "trainer"]);

/** Loaded with the first certificate, because no other command needs it. The library expects the polyfill to be there. */
async function load(): Promise<typeof import("@peculiar/x509")> {
  await import("reflect-metadata");
  return await import("@peculiar/x509");
}

const newKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

const validity = (nowMs: number, days: number) => ({
  notBefore: new Date(nowMs - BEHIND_MS),
  notAfter: new Date(nowMs + days * DAY_MS),
});

export async function createAuthority(nowMs: number): Promise<Authority> {
  const x509 = await load();
  const keys = await newKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=Tributary development authority",
    ...validity(nowMs, AUTHORITY_DAYS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return authorityOf({ cert, signingKey: keys.privateKey, key: await keyPem(keys.privateKey) }, nowMs);
}

/** An authority that was created before, to issue further certificates. */
export async function openAuthority({ cert, key }: Issued, nowMs: number): Promise<Authority> {
  const x509 = await load();
  const [der] = x509.PemConverter.decode(key);
  if (der === undefined) throw new Error("the key of the authority is not PEM");
  const signingKey = await crypto.subtle.importKey("pkcs8", der, ALGORITHM, true, ["sign"]);
  return authorityOf({ cert: new x509.X509Certificate(cert), signingKey, key }, nowMs);
}

function authorityOf(own: { cert: X509Certificate; signingKey: webcrypto.CryptoKey; key: string }, nowMs: number): Authority {
  return {
    cert: `${own.cert.toString("pem")}\n`,
    key: own.key,
    issue: async (peer, { hosts, days }) => {
      const x509 = await load();
      const keys = await newKeys();
      const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
      const isServer = SERVERS.has(peer.role);
      const names = (isServer ? hosts : []).map((value) => ({ type: isAddress(value) ? ("ip" as const) : ("dns" as const), value }));
      const cert = await x509.X509CertificateGenerator.create({
        subject: [{ CN: [peer.name] }, { OU: [peer.role] }],
        issuer: own.cert.subject,
        ...validity(nowMs, days),
        signingAlgorithm: ALGORITHM,
        publicKey: keys.publicKey,
        signingKey: own.signingKey,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension(isServer ? [serverAuth, clientAuth] : [clientAuth]),
          new x509.SubjectAlternativeNameExtension([{ type: "url", value: peerUri(peer) }, ...names]),
          await x509.AuthorityKeyIdentifierExtension.create(own.cert.publicKey),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return { cert: `${cert.toString("pem")}\n`, key: await keyPem(keys.privateKey) };
    },
  };
}

const isAddress = (host: string): boolean => host.includes(":") || /^[\d.]+$/.test(host);

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  const { PemConverter } = await load();
  return `${PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}
