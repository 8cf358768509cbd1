import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type StoppableServer, stoppable } from "./stoppable-server.ts";

/** Longer than the tests: a connection that is not closed by the server stays. */
const KEEP_ALIVE_MS = 60_000;
const DRAIN = { drainMs: KEEP_ALIVE_MS };
const agents: Agent[] = [];

async function serve(): Promise<{ server: StoppableServer; call(): Promise<Call> }> {
  const arrived: ((response: ServerResponse) => void)[] = [];
  const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (_request, response) => arrived.shift()?.(response));
  const server = stoppable(http);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  const call = async () => {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    arrived.push(resolve);
    const answered = once(get({ port, agent }), "response").then(([response]) => response as IncomingMessage);
    return { answered, response: await promise };
  };
  return { server, call };
}

interface Call {
  readonly answered: Promise<IncomingMessage>;
  readonly response: ServerResponse;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return text;
}

afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy();
});

test("a running call whose answer has not begun is answered with Connection: close, and the server ends with it", async () => {
  const { server, call } = await serve();
  const { answered, response } = await call();
  const stopped = server.stop(DRAIN);
  response.end("done");
  const answer = await answered;
  expect([answer.headers.connection, await textOf(answer)]).toEqual(["close", "done"]);
  await stopped;
});

test("a stream that has begun goes on to its end, and the server ends with it although the client keeps the connection", async () => {
  const { server, call } = await serve();
  const { answered, response } = await call();
  response.write("one ");
  const answer = await answered;
  expect(answer.headers.connection).toBe("keep-alive");
  const stopped = server.stop(DRAIN);
  response.end("two");
  expect(await textOf(answer)).toBe("one two");
  await stopped;
});

test("after the announcement calls are accepted, each with Connection: close", async () => {
  const { server, call } = await serve();
  const first = await call();
  first.response.end();
  const kept = await first.answered;
  expect([kept.headers.connection, await textOf(kept)]).toEqual(["keep-alive", ""]);
  server.announceStop();
  for (const text of ["on the connection that is open", "on a new connection"]) {
    const { answered, response } = await call();
    response.end(text);
    const answer = await answered;
    expect([answer.headers.connection, await textOf(answer)]).toEqual(["close", text]);
  }
  await server.stop(DRAIN);
});

test("calls that take longer than the drain are cut, and may send a last error", async () => {
  const { server, call } = await serve();
  const { answered, response } = await call();
  response.write("one ");
  const answer = await answered;
  await server.stop({ drainMs: 1, cut: () => response.end("error") });
  expect(await textOf(answer)).toBe("one error");
});

test("without a drain all connections are closed at once", async () => {
  const { server, call } = await serve();
  const { answered, response } = await call();
  response.write("one ");
  const reading = textOf(await answered);
  await server.stop();
  await expect(reading).rejects.toThrow("aborted");
});
