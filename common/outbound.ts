import type { AgentOptions, ClientRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { checkedLookup, judgePlace, type Lookup, type Resolve } from "./checked-lookup.ts";
import { Agent as HttpAgent, request as httpRequest } from "./node-http.ts";

/**
 * Which addresses a connection may have. Every outbound connection is created with one, and scripts/tidy/outbound-rules.ts lists the files
 * that may create connections. A guard works once per connection, never per request.
 */
export interface Guard {
  /** Throws for a host that is refused by its text alone. An IP address is never looked up, so it has to be checked here. */
  checkHost(host: string): void;
  /** Resolves a name once and refuses it if any of its addresses is refused: the connection uses one of exactly these addresses. */
  readonly lookup: Lookup;
}

export interface GuardOptions {
  /** Whether addresses of private networks and of this machine are allowed. Link-local addresses, as of metadata services, never are. */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve | undefined;
}

export function createGuard({ allowPrivate, resolve }: GuardOptions): Guard {
  return guardOf((host) => judgePlace(host, { allowPrivate }), resolve);
}

/** A guard with a rule of its own; `judge` throws for a host name or address that is refused. */
export function guardOf(judge: (host: string) => void, resolve?: Resolve): Guard {
  return { checkHost: judge, lookup: checkedLookup(judge, resolve) };
}

/** The guard of addresses that the operator sets, such as those of the deployment's own processes. */
export const OPERATOR_GUARD = createGuard({ allowPrivate: true });

/** A request on a connection of its own. Certificates are verified, whatever the environment says. */
export function guardedRequest(url: URL, options: RequestOptions, guard: Guard): ClientRequest {
  guard.checkHost(url.hostname);
  const { lookup } = guard;
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return send(url, { ...options, lookup, agent: false, rejectUnauthorized: true });
}

/** Agents of node:http and node:https whose connections the guard checks; for libraries that take an agent. */
export function guardedAgents(guard: Guard, options: AgentOptions): { readonly "http:": HttpAgent; readonly "https:": HttpsAgent } {
  const all = { ...options, lookup: guard.lookup };
  return { "http:": checking(new HttpAgent(all), guard), "https:": checking(new HttpsAgent({ ...all, rejectUnauthorized: true }), guard) };
}

function checking<Type extends HttpAgent>(agent: Type, guard: Guard): Type {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    try {
      guard.checkHost(options.host ?? "");
    } catch (error) {
      // With an error there is no socket; the type of the callback requires one all the same.
      callback?.(error as Error, undefined as unknown as Duplex);
      return undefined;
    }
    return connect(options, callback);
  };
  return agent;
}
