import type { CancelSignal } from "../../../../common/cancel.ts";
import type { CallResponse } from "../../../calls/http-exchange.ts";
import type { OpenCall, OpenCalls } from "../../../calls/open-calls.ts";
import type { IdempotentCall } from "./idempotent-call.ts";

/**
 * Aborts when the client disconnects or the edge stops. The request's `close` event may never come after its body was read; the response's
 * always does.
 */
export function clientLeft(response: CallResponse, openCalls: OpenCalls): CancelSignal {
  const call = openCalls.open();
  endWithClient(response, call);
  return call.signal;
}

/** The same for a call that may go on without its client: it stays open then, so that a stopping edge waits for it or cuts it. */
export function endWithClient(response: CallResponse, call: OpenCall, idempotent?: Pick<IdempotentCall, "goesOn">): void {
  const closed = () => {
    if (!response.writableFinished && idempotent?.goesOn && call.goOn()) return;
    call.close();
    if (!response.writableFinished) call.left();
  };
  if (response.closed) closed();
  else response.on("close", closed);
}
