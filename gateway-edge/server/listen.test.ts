import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { type Listener, listen } from "./listen.ts";

let listener: Listener;
beforeAll(async () => {
  listener = await listen(express(), { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {}, exact: () => false });
});
afterAll(() => listener.stop());

test("a client that still sends its refused head can read the refusal: the connection is not reset, and is closed a moment later", async () => {
  const socket = connect({ port: listener.port, host: "127.0.0.1", allowHalfOpen: true });
  const errors: unknown[] = [];
  socket.on("error", (error) => errors.push(error));
  socket.write(`GET /?${"A".repeat(100_000)}`);
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 431 /);
  for (let part = 0; part < 5 && !socket.destroyed; part++) {
    socket.write("A".repeat(100_000));
    await sleep(20);
  }
  expect(errors).toEqual([]);
  // Closed a moment later: what is sent then is reset.
  while (errors.length === 0) {
    socket.write("A");
    await sleep(50);
  }
  socket.destroy();
});
