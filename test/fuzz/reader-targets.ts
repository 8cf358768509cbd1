import { isDeepStrictEqual } from "node:util";
import { crc32 } from "node:zlib";
import { AppError } from "../../common/errors.ts";
import type { UpstreamEvent } from "../../gateway-edge/upstream/providers/provider.ts";
import { readAwsEventStream } from "../../gateway-edge/upstream/providers/shared/aws-event-stream.ts";
import { readNdjson } from "../../gateway-edge/upstream/providers/shared/ndjson-reader.ts";
import { readSse } from "../../gateway-edge/upstream/providers/shared/sse-reader.ts";
import { ProtocolError, ResponseParser } from "../../gateway-edge/upstream/transports/http1/response-parser.ts";
import type { Chance } from "../faults/chance.ts";
import { cut, joined, mutated, randomBytes } from "./mutate.ts";
import type { FuzzTarget } from "./target.ts";

type ReadEvents = (body: AsyncIterable<Uint8Array>) => AsyncIterable<UpstreamEvent>;

const SSE_PIECES = [
  "data: ",
  "data:",
  "event: a",
  "id: 1",
  ": comment",
  "\n",
  "\n\n",
  "\r\n",
  "\r",
  "\uFEFF",
  '{"a":1}',
  "[DONE]",
  "ä€😀",
  "\0",
  "x",
];
const JSON_LINES = ['{"a":1}', '{"a":"\\u00e4"}', "\n", "\r\n", "[]", '"', "{", "ä€😀", " "];
const HTTP_PIECES = [
  "HTTP/1.1 200 OK\r\n",
  "HTTP/1.1 204\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.0 200\r\n",
  "content-length: 5\r\n",
  "Content-Length: 0\r\n",
  "transfer-encoding: chunked\r\n",
  "connection: close\r\n",
  "keep-alive: timeout=5\r\n",
  "x-a: b\r\n",
  "\r\n",
  "5\r\nhello\r\n",
  "5;x=y\r\nhello\r\n",
  "0\r\n\r\n",
  "hello",
  "\n",
  "\r",
  ": ",
];

/** Readers of what providers send. A provider may send anything, in any cut: it is read alike, or refused. */
export const readerTargets: readonly FuzzTarget[] = [
  eventTarget("sse", 6, readSse, (random) => textOf(random, SSE_PIECES)),
  eventTarget("json-lines", 2, readNdjson, (random) => textOf(random, JSON_LINES)),
  eventTarget("aws-events", 4, readAwsEventStream, awsFrames),
  { name: "upstream-answers", share: 8, make: (random) => textOf(random, HTTP_PIECES), check: checkAnswers },
];

function eventTarget(name: string, share: number, read: ReadEvents, make: (random: Chance) => Buffer): FuzzTarget {
  return {
    name,
    share,
    make,
    check: async (input) => {
      const [whole, inPieces] = [await outcomeOf(read(streamOf([input]))), await outcomeOf(read(streamOf(cut(input))))];
      if (!isDeepStrictEqual(whole, inPieces)) throw new Error(`other events in pieces: ${JSON.stringify([whole, inPieces])}`);
    },
  };
}

async function* streamOf(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield piece;
}

/** The events, or the code of the refusal; an error of another kind would be a 500. */
async function outcomeOf(events: AsyncIterable<UpstreamEvent>): Promise<unknown> {
  const read: UpstreamEvent[] = [];
  try {
    for await (const event of events) read.push(event);
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return read;
}

function textOf(random: Chance, pieces: readonly string[]): Buffer {
  const text = joined(random, pieces, 30);
  return random.happens(0.5) ? mutated(random, text) : text;
}

/** Frames with wrong checksums are refused at once, so most lengths are right and only the payload is any. */
function awsFrames(random: Chance): Buffer {
  const frames = Array.from({ length: random.below(4) }, () => {
    const payload = randomBytes(random, random.below(20));
    const frame = Buffer.alloc(16 + payload.length);
    frame.writeUInt32BE(random.happens(0.8) ? frame.length : random.below(2 ** 32), 0);
    frame.writeUInt32BE(random.happens(0.8) ? 0 : random.below(40), 4);
    return withChecksums(frame, payload);
  });
  const bytes = Buffer.concat(frames);
  return random.happens(0.5) ? mutated(random, bytes) : bytes;
}

function withChecksums(frame: Buffer, payload: Buffer): Buffer {
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  payload.copy(frame, 12);
  frame.writeUInt32BE(crc32(frame.subarray(0, frame.length - 4)), frame.length - 4);
  return frame;
}

function checkAnswers(input: Buffer): void {
  const [whole, inPieces] = [answersOf([input]), answersOf(cut(input))];
  if (!isDeepStrictEqual(whole, inPieces)) throw new Error(`another answer in pieces: ${JSON.stringify([whole, inPieces])}`);
}

/** The first answer on a connection. */
function answersOf(pieces: readonly Buffer[]): unknown {
  const seen: { head?: unknown; body: string; ended: boolean } = { body: "", ended: false };
  const parser = new ResponseParser({
    head: (status, headers) => {
      seen.head = [status, headers];
    },
    data: (bytes) => {
      seen.body += bytes.toString("latin1");
    },
    end: () => {
      seen.ended = true;
    },
  });
  parser.begin({ isHead: false });
  try {
    for (const piece of pieces) {
      if (seen.ended) break;
      parser.feed(piece, false);
    }
  } catch (error) {
    if (error instanceof ProtocolError) return seen.ended ? seen : "refused";
    throw error;
  }
  return seen;
}
