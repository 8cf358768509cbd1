import type { Clock } from "../../../../common/clock.ts";
import type { Transport, TransportOptions } from "../transport.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { serializeRequest } from "./request.ts";

/** Our own HTTP/1.1 connections, which cost less than undici's (decision 19). It uses no proxy. */
export function createHttp1Transport(options: TransportOptions & { readonly clock: Clock }): Transport {
  const pool = new ConnectionPool(options);
  return {
    dispatch: (address, request, exchange) =>
      pool.dispatch(address, { message: serializeRequest(address, request, exchange.callIds), handler: exchange }),
    waits: () => pool.waits(),
  };
}
