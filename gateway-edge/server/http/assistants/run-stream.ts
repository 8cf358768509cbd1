import type { Response } from "express";
import type { Clock } from "../../../../common/clock.ts";
import { AppError, asAppError } from "../../../../common/errors.ts";
import { toJson } from "../../../../common/json.ts";
import { gatewayErrorBody } from "../../../calls/gateway-error.ts";
import type { RunEvent } from "../../../stored/assistants/run-feed.ts";
import { SseWriter } from "../calls/sse-writer.ts";

const DONE = "event: done\ndata: [DONE]\n\n";
/** The last events of a complete stream; a run continues after them only with another request. */
const LAST = /^thread\.run\.(requires_action|completed|incomplete|failed|cancelled|expired)$/;

/** Streams a run's events to its caller. If the caller disconnects, the run continues. */
export async function streamRun(
  response: Response,
  { clock, stallMs, first, events }: { clock: Clock; stallMs: number; first: readonly RunEvent[]; events: AsyncIterable<RunEvent> },
): Promise<void> {
  const writer = new SseWriter(response, clock, { stallMs });
  writer.open();
  await writer.write(first.map(frame).join(""));
  let isComplete = false;
  try {
    for await (const event of events) {
      isComplete ||= LAST.test(event.event);
      if (!(await writer.write(frame(event)))) return;
    }
  } catch (thrown) {
    // The store could not be read: the status is sent already.
    response.locals["error"] = asAppError(thrown);
  }
  writer.end((isComplete ? "" : frame(interrupted())) + DONE);
}

function frame({ event, data }: RunEvent): string {
  return `event: ${event}\ndata: ${toJson(data)}\n\n`;
}

/** This edge stops, or another edge has claimed the run and continues it. */
function interrupted(): RunEvent {
  const error = new AppError("UNAVAILABLE", "The stream was interrupted; the run continues. Retrieve the run to see its result.");
  return { event: "error", data: gatewayErrorBody(error).error };
}
