import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { fakeClock, settleWork } from "../../../access/clock-fixture.ts";
import { PING_FRAME } from "../../../calls/dialects/messages/answer.ts";
import { queuedBytes, SseWriter } from "./sse-writer.ts";

class FakeResponse extends EventEmitter {
  readonly written: string[] = [];
  destroyed = false;
  closed = false;
  headersSent = false;
  writableNeedDrain = false;
  writableLength = 0;
  readonly socket = { bytesWritten: 5000 };
  setHeader(): void {}
  writeHead(): void {
    this.headersSent = true;
  }
  flushHeaders(): void {}
  write(text: string): boolean {
    this.written.push(text);
    return !this.writableNeedDrain;
  }
  end(text: string): void {
    this.written.push(text);
  }
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const responses: FakeResponse[] = [];
afterEach(() => {
  for (const response of responses.splice(0)) response.destroy();
});

function open(keepAlive?: string) {
  const clock = fakeClock();
  const response = new FakeResponse();
  responses.push(response);
  const writer = new SseWriter(response as unknown as ServerResponse, clock, { keepAlive, stallMs: 60_000 });
  writer.open();
  return { clock, response, writer };
}

test.each([
  ["a comment", undefined, ": keep-alive\n\n"],
  ["a ping, where the API has one", PING_FRAME, 'event: ping\ndata: {"type":"ping"}\n\n'],
])("silence is filled with %s, and only silence", async (_what, keepAlive, frame) => {
  const { clock, response, writer } = open(keepAlive);
  await clock.advance(16_000);
  expect(response.written).toEqual([frame]);
  await clock.advance(10_000);
  await writer.write("word");
  await clock.advance(10_000);
  expect(response.written).toEqual([frame, "word"]);
  await clock.advance(6_000);
  expect(response.written).toEqual([frame, "word", frame]);
  writer.end("end");
  await clock.advance(60_000);
  expect(response.written).toEqual([frame, "word", frame, "end"]);
});

test("what is written in one turn goes out as one piece, in order, and before the end", async () => {
  const { response, writer } = open();
  writer.write("a");
  writer.write("b");
  expect(response.written).toEqual([]);
  await Promise.resolve();
  writer.write("c");
  await settleWork();
  expect(response.written).toEqual(["abc"]);
  writer.write("d");
  writer.write(Buffer.from("e"));
  writer.write("f");
  writer.end("g");
  expect(response.written.map(String)).toEqual(["abc", "d", "e", "fg"]);
  await settleWork();
  expect(response.written).toHaveLength(4);
});

test("a client that does not read is waited for, and given up in the end; what never left is known", async () => {
  const { clock, response, writer } = open();
  response.writableNeedDrain = true;
  const waiting = writer.write("word");
  await clock.advance(59_000);
  expect([response.destroyed, writer.unsentShare]).toEqual([false, 0]);
  expect(queuedBytes()).toEqual([0]);
  // The connection wrote 5,000 bytes before this stream, and 400 of it, of which 100 wait for the client.
  response.socket.bytesWritten = 5400;
  response.writableLength = 100;
  expect(queuedBytes()).toEqual([100]);
  await clock.advance(2_000);
  expect([response.destroyed, await waiting, await writer.write("more")]).toEqual([true, false, false]);
  expect([writer.unsentShare, queuedBytes()]).toEqual([0.25, []]);
});
