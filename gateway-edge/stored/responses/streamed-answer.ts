import type { Clock } from "../../../common/clock.ts";
import { asAppError } from "../../../common/errors.ts";
import type { ResponseIdentity } from "../../calls/dialects/responses/response.ts";
import { responseStream } from "../../calls/dialects/responses/stream-format.ts";
import type { DeliveredParts } from "../../calls/inference/inference-call.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { EventLog } from "./response-events.ts";

interface Streaming {
  readonly parts: DeliveredParts;
  readonly identity: ResponseIdentity;
  readonly log: EventLog;
  readonly stop: AbortSignal;
}

/** Logs the events of an answer that is streamed in the background; returns the response. One that breaks off in the middle has failed. */
export async function streamedAnswer({ clock }: { clock: Clock }, { parts, identity, log, stop }: Streaming): Promise<Fields> {
  let response: Fields | undefined;
  const keep = async (ended: Fields) => {
    response = ended;
    return ended;
  };
  const format = responseStream(identity, { include: identity.request.include ?? [], now: () => clock.now(), keep });
  try {
    for await (const part of parts) {
      if (part.type === "bytes") throw new Error("a response is not sent as bytes");
      if (part.type === "settled") log.addEnd(await format.last(part.bill), part.bill.cost);
      else log.add(format.frames(part));
    }
  } catch (thrown) {
    if (stop.aborted) throw thrown;
    await format.failed(asAppError(thrown));
  }
  if (!response) throw new Error("the stream of a response ended without a settlement");
  return response;
}
