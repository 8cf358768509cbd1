import { Agent, buildConnector, fetch as undiciFetch } from "undici";
import type { Guard } from "./outbound.ts";

type Connector = buildConnector.connector;

/** Creates undici's connections; the origin of each determines its guard. Certificates are verified, whatever the environment says. */
export function guardedConnector(guardFor: (origin: string) => Guard, options: buildConnector.BuildOptions): Connector {
  const connectors = new WeakMap<Guard, Connector>();
  const connectorOf = (guard: Guard): Connector => {
    const connector = connectors.get(guard) ?? buildConnector({ ...options, rejectUnauthorized: true, lookup: guard.lookup });
    connectors.set(guard, connector);
    return connector;
  };
  return (target, callback) => {
    const guard = guardFor(`${target.protocol}//${target.host}`);
    try {
      guard.checkHost(target.hostname);
    } catch (error) {
      queueMicrotask(() => callback(error as Error, null));
      return;
    }
    connectorOf(guard)(target, callback);
  };
}

/** An agent of undici whose connections the guard checks. */
export function guardedDispatcher(guard: Guard, { connect, ...options }: Agent.Options & { connect?: buildConnector.BuildOptions }): Agent {
  return new Agent({ ...options, connect: guardedConnector(() => guard, connect ?? {}) });
}

/** `fetch` over guarded connections, which may present a certificate. */
export function guardedFetch(guard: Guard, tls: buildConnector.BuildOptions = {}): typeof globalThis.fetch {
  const dispatcher = guardedDispatcher(guard, { connect: { ...tls, allowH2: false } });
  const fetchWith = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => fetchWith(input, { ...init, dispatcher });
}
