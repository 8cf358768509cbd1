/** The upstream closed a connection in the middle of an answer. */
export class UpstreamClosed extends Error {
  readonly code = "ECONNRESET";

  constructor() {
    super("the upstream closed the connection before its answer was complete");
  }
}

/** The upstream, or the proxy in front of it, took too long to accept a connection. */
export class ConnectTooLong extends Error {
  readonly code = "ETIMEDOUT";

  constructor(connectMs: number) {
    super(`the upstream did not take the connection within ${connectMs} ms`);
  }
}
