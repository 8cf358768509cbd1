import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { checkServerIdentity, getCACertificates, type PeerCertificate, setDefaultCACertificates } from "node:tls";
import { z } from "zod";
import { ConfigError, type Settings } from "../config.ts";
import { isLoopbackHost } from "../exposed.ts";
import { type Peer, type PeerRole, peerOf } from "./peer.ts";

/** Settings of every process that listens or connects beyond its machine. */
export const tlsSettings = {
  TLS_CERT: z
    .string()
    .optional()
    .describe(
      "PEM file of this process's certificate, with the role and name of the process (`tributary://edge/edge-1`) among its alternative names. `gw admin certs` makes certificates.",
    ),
  TLS_KEY: z.string().optional().describe("PEM file of the private key of `TLS_CERT`."),
  TLS_CA: z.string().optional().describe("PEM file of the certificate authorities that issued the certificates of the other processes."),
};

type TlsFiles = Settings<typeof tlsSettings>;

/** The certificate of this process and the authorities that it trusts. */
export interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
  /** Absent: the certificate names no role, such as one of a public authority. */
  readonly peer: Peer | undefined;
}

/** TLS of a process that proves with its certificate who it is. */
export interface PeerTls extends Tls {
  readonly ca: Buffer;
  readonly peer: Peer;
}

/** Reads the files; undefined if none is set. TLS_CA is optional here, for a server with a certificate of a public authority. */
export function readTls(files: TlsFiles): Tls | undefined {
  const { tlsCert, tlsKey, tlsCa } = files;
  if (tlsCert === undefined && tlsKey === undefined && tlsCa === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new ConfigError(["TLS_CERT, TLS_KEY: set both, or neither and no TLS_CA"]);
  const cert = read("TLS_CERT", tlsCert, (pem) => new X509Certificate(pem));
  const key = read("TLS_KEY", tlsKey, (pem) => createPrivateKey(pem));
  const ca = tlsCa === undefined ? undefined : read("TLS_CA", tlsCa, (pem) => new X509Certificate(pem));
  if (!cert.parsed.checkPrivateKey(key.parsed)) throw new ConfigError([`TLS_KEY: ${tlsKey} is not the key of the certificate ${tlsCert}`]);
  return { cert: cert.pem, key: key.pem, ca: ca?.pem, peer: peerOf(cert.parsed.subjectAltName) };
}

/** Reads the files of a process that others accept by its role. */
export function readPeerTls(files: TlsFiles, role: PeerRole): PeerTls | undefined {
  const tls = readTls(files);
  if (tls === undefined) return undefined;
  const { ca, peer } = tls;
  if (ca === undefined) throw new ConfigError(["TLS_CA: must be set with TLS_CERT: the other processes are recognized by it"]);
  if (peer?.role !== role) {
    const found = peer === undefined ? "names no role" : `is that of a process of the role ${peer.role}`;
    throw new ConfigError([
      `TLS_CERT: ${files.tlsCert} ${found}; it needs the alternative name tributary://${role}/<name>, as gw admin certs makes it`,
    ]);
  }
  return { ...tls, ca, peer };
}

/** What error messages advise. */
export const MAKE_CERTS = "gw admin certs --out FOLDER --hosts NAMES makes certificates";

/** Without TLS a process must not listen beyond its own machine. */
export function requireTls(tls: Tls | undefined, { variable, host }: { variable: string; host: string }): void {
  if (tls !== undefined || isLoopbackHost(host)) return;
  throw new ConfigError([
    `${variable}: ${host} can be reached from other machines, so TLS_CERT, TLS_KEY and TLS_CA must be set (${MAKE_CERTS}); or keep ${variable} at 127.0.0.1 and reach it through a tunnel, such as ssh -L`,
  ]);
}

/** Checks the name of a server like TLS does, and that it has one of the roles: every process has a certificate of the same authority. */
export function serverOf(...roles: readonly PeerRole[]): (host: string, certificate: PeerCertificate) => Error | undefined {
  return (host, certificate) => {
    const wrong = checkServerIdentity(host, certificate);
    if (wrong) return wrong;
    const role = peerOf(certificate.subjectaltname)?.role;
    if (role !== undefined && roles.includes(role)) return undefined;
    return new Error(`the certificate of ${host} is not that of a ${roles.join(" or a ")}, but of ${role ?? "no role"}`);
  };
}

/** Trusts the operator's authorities beside the public ones, for calls to trainer nodes with certificates of them. */
export function trustOperator({ ca }: PeerTls): void {
  setDefaultCACertificates([...getCACertificates("default"), ca]);
}

function read<Parsed>(variable: string, path: string, parse: (pem: Buffer) => Parsed): { pem: Buffer; parsed: Parsed } {
  try {
    const pem = readFileSync(path);
    return { pem, parsed: parse(pem) };
  } catch (cause) {
    throw new ConfigError([`${variable}: ${path}: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}
