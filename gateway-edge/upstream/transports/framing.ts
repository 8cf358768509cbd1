import type { Framing, UpstreamEvent } from "../providers/provider.ts";
import { readAwsEventStream } from "../providers/shared/aws-event-stream.ts";
import { readNdjson } from "../providers/shared/ndjson-reader.ts";
import { readSse } from "../providers/shared/sse-reader.ts";

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
