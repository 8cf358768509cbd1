import type { Response } from "express";
import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { toJson } from "../../../../common/json.ts";
import { gatewayErrorBody } from "../../../calls/gateway-error.ts";
import type { RunEvent } from "../../../stored/assistants/run-feed.ts";
import { SseWriter } from "../calls/sse-writer.ts";

const DONE = "event: done\ndata: [DONE]\n\n";
/** After these a stream is whole; what comes next needs another request. */
const LAST = /^thread\.run\.(requires_action|completed|incomplete|failed|cancelled|expired)$/;

/** A run's events for its caller. A caller that leaves stops hearing of the run; the run goes on. */
export async function streamRun(
  response: Response,
  { clock, first, events }: { clock: Clock; first: readonly RunEvent[]; events: AsyncIterable<RunEvent> },
): Promise<void> {
  const writer = new SseWriter(response, clock);
  writer.open();
  await writer.write(first.map(frame).join(""));
  let isWhole = false;
  for await (const event of events) {
    isWhole ||= LAST.test(event.event);
    if (!(await writer.write(frame(event)))) return;
  }
  writer.end((isWhole ? "" : frame(brokenOff())) + DONE);
}

function frame({ event, data }: RunEvent): string {
  return `event: ${event}\ndata: ${toJson(data)}\n\n`;
}

/** This edge stops, or lost the run to another: it goes on there. */
function brokenOff(): RunEvent {
  const error = new AppError("UNAVAILABLE", "The stream broke off; the run goes on. Retrieve it to see how it ends.");
  return { event: "error", data: gatewayErrorBody(error).error };
}
