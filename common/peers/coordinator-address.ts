import { isLoopbackHost } from "../exposed.ts";

/** An address of a coordinator: scheme, host and port, nothing else. */
export function isCoordinatorAddress(text: string): boolean {
  const url = text.length <= 300 ? URL.parse(text) : null;
  return (url?.protocol === "http:" || url?.protocol === "https:") && url.origin === text;
}

/**
 * Whether a process may present its token or certificate at a coordinator's address that it was given. With TLS the coordinator proves its
 * role by its certificate; without, it can be on this machine only, as it does not listen beyond it (requireTls).
 */
export function isTrustedAddress(address: string, { hasTls }: { hasTls: boolean }): boolean {
  if (!isCoordinatorAddress(address)) return false;
  const { protocol, hostname } = new URL(address);
  return hasTls ? protocol === "https:" : protocol === "http:" && isLoopbackHost(hostname);
}
