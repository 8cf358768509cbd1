import { readAwsEventStream } from "../providers/aws-event-stream.ts";
import { readNdjson } from "../providers/ndjson-reader.ts";
import type { Framing, UpstreamEvent } from "../providers/provider.ts";
import { readSse } from "../providers/sse-reader.ts";

/** An upstream's bytes as its events. */
export function readEvents(framing: Framing, body: AsyncIterable<Uint8Array>): AsyncIterable<UpstreamEvent> {
  switch (framing) {
    case "sse":
      return readSse(body);
    case "ndjson":
      return readNdjson(body);
    case "aws-event-stream":
      return readAwsEventStream(body);
  }
}
