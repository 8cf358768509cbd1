import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { nameAt } from "../calls/header-list.ts";
import { ownObjects, setEarly } from "./own-objects.ts";

const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "as a list": (response) => response.writeHead(200, ["x-own", "1"]),
  "as a list with its own call id": (response) => response.writeHead(200, ["x-gw-call-id", "call_other"]),
  "as a list beside one that was set": (response) => {
    response.setHeader("x-own", "1");
    response.writeHead(200, ["x-more", "2"]);
  },
  "as an object": (response) => response.writeHead(200, { "x-own": "1" }),
  "with its own call id before": (response) => {
    response.setHeader("x-gw-call-id", "call_other");
    response.writeHead(200);
  },
  "without any": () => {},
};

test.each(Object.keys(ANSWERS))("an answer whose headers come %s has each early header once", async (name) => {
  const server = createServer(ownObjects(express()), (_request, response) => {
    // A value that is the name of another header.
    setEarly(response, "x-request-id", "x-gw-call-id");
    setEarly(response, "x-gw-call-id", "call_1");
    expect([
      response.getHeader("x-gw-call-id"),
      response.hasHeader("x-gw-call-id"),
      response.getHeader("x-own"),
      response.hasHeader("x-own"),
    ]).toEqual(["call_1", true, undefined, false]);
    ANSWERS[name]?.(response);
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const [answer] = (await once(get({ port: (server.address() as AddressInfo).port, agent: false }), "response")) as [IncomingMessage];
    answer.resume();
    expect(answer.rawHeaders.filter((text) => text === "call_1" || text === "call_other")).toEqual([
      name.includes("own call id") ? "call_other" : "call_1",
    ]);
    expect(answer.rawHeaders[nameAt(answer.rawHeaders, "x-request-id") + 1]).toBe("x-gw-call-id");
    expect(answer.headers["x-own"]).toBe(name.includes("call id") || name === "without any" ? undefined : "1");
  } finally {
    server.close();
  }
});
