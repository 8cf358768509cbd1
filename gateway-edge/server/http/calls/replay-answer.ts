import type { Clock } from "../../../../common/clock.ts";
import { asAppError } from "../../../../common/errors.ts";
import type { StoredAnswer } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { HeaderList } from "../../../calls/header-list.ts";
import type { CallResponse } from "../../../calls/http-exchange.ts";
import type { RecordStore } from "../../../stored/records/records.ts";
import { readLargeAnswer } from "./large-answers.ts";
import { SseWriter } from "./sse-writer.ts";

interface ReplayDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  /** How long a client may read nothing of it. */
  readonly stallMs: number;
}

/** Sends the stored answer of an earlier call. A large one costs no more memory than a stream, however slowly its client reads. */
export function replay(
  deps: ReplayDeps,
  { response, answer, teamId }: { response: CallResponse; answer: StoredAnswer; teamId: string },
): void | Promise<void> {
  const { status, contentType, content } = answer;
  const headers = [...Object.entries(answer.headers).flat(), "idempotent-replayed", "true"];
  if (content)
    return readLargeAnswer(deps.records, teamId, content).then((pieces) => stream(deps, { response, headers, contentType, pieces }));
  return send(response, { status, headers, contentType, body: Buffer.from(answer.body) });
}

interface Replayed {
  readonly response: CallResponse;
  readonly headers: HeaderList;
  readonly contentType: string;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** An error closes the connection, because a shortened answer would look complete. */
async function stream({ clock, stallMs }: ReplayDeps, { response, headers, contentType, pieces }: Replayed): Promise<void> {
  const writer = new SseWriter(response, clock, { keepAlive: "", stallMs });
  writer.open({ contentType, headers });
  try {
    for await (const piece of pieces) if (!(await writer.write(piece))) return;
    writer.end("");
  } catch (thrown) {
    response.locals["error"] = asAppError(thrown);
    response.destroy();
  }
}

export function send(
  response: CallResponse,
  answer: { status?: number; headers: HeaderList; contentType: string; body: string | Buffer },
): void {
  const length = String(Buffer.byteLength(answer.body));
  response.writeHead(answer.status ?? 200, [...answer.headers, "content-type", answer.contentType, "content-length", length]);
  response.end(answer.body);
}
