import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type { AppError } from "../../../../common/errors.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { createFederationBody } from "../../../schemas/platform/training.ts";
import { enrollment } from "./enrollment.ts";

let asked: object[] = [];
let edge: Server;
beforeAll(async () => {
  const enrollParticipant = async (request: object) => {
    asked.push(request);
    return { federationId: "fed_1", participantId: "p4", token: "join_own", maxSamples: 40n };
  };
  const leaveFederation = async (request: object) => {
    asked.push(request);
    return {};
  };
  const app = express().use(enrollment({ control: { training: { enrollParticipant, leaveFederation } } } as unknown as EdgeDeps));
  app.use(((error: AppError, _request, response, _next) => {
    response.status(418).json({ code: error.code, details: error.details });
  }) as express.ErrorRequestHandler);
  edge = createServer(app);
  await new Promise<void>((resolve) => edge.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void edge.close());
beforeEach(() => {
  asked = [];
});

const LINK = `join_${"x".repeat(43)}`;
const call = (method: string, headers: Record<string, string>, body?: string) =>
  fetch(`http://127.0.0.1:${(edge.address() as AddressInfo).port}/training/join`, { method, headers, body: body ?? null });

test("the join link gives a place, with what the participant declares and agrees to", async () => {
  const headers = { authorization: `Bearer ${LINK}`, "x-capabilities": "clip,noise", "content-type": "application/json" };
  const answer = await call("POST", headers, '{"max_samples": 40}');
  expect([answer.status, await answer.json()]).toEqual([
    201,
    { federationId: "fed_1", participantId: "p4", token: "join_own", maxSamples: 40 },
  ]);
  expect(asked).toEqual([{ token: LINK, capabilities: "clip,noise", maxSamples: 40n }]);
});

test("the body may be missing; a place is given up with its token", async () => {
  const headers = { authorization: `Bearer ${LINK}` };
  expect([(await call("POST", headers)).status, (await call("DELETE", headers)).status]).toEqual([201, 204]);
  expect(asked).toEqual([{ token: LINK, capabilities: "", maxSamples: undefined }, { token: LINK }]);
});

test("a missing token, an unknown field and another method are refused before the control plane is asked", async () => {
  const headers = { authorization: `Bearer ${LINK}`, "content-type": "application/json" };
  const refused = [await call("POST", {}), await call("POST", headers, '{"samples": 4}'), await call("PUT", headers)];
  const codes = await Promise.all(refused.map(async (answer) => ((await answer.json()) as { code: string }).code));
  expect([codes, asked]).toEqual([["UNAUTHORIZED", "VALIDATION_ERROR", "METHOD_NOT_ALLOWED"], []]);
});

test.each([
  [{ enrollment: "open" }, undefined],
  [{ enrollment: "open", minParticipants: 3, maxParticipants: 20, minResults: 20 }, undefined],
  [{ enrollment: "open", participants: [{ join: true }] }, undefined],
  [{}, "participants"],
  [{ enrollment: "listed", participants: [] }, "participants"],
  [{ enrollment: "public" }, "enrollment"],
  [{ participants: [{ join: true }], minParticipants: 1 }, "minParticipants"],
  [{ participants: [{ join: true }], maxParticipants: 1 }, "maxParticipants"],
  [{ enrollment: "open", minParticipants: 3, maxParticipants: 2 }, "minParticipants"],
  [{ enrollment: "open", participants: [{ join: true }, { join: true }], maxParticipants: 1 }, "participants"],
  [{ enrollment: "open", maxParticipants: 2, minResults: 3 }, "minResults"],
  [
    { enrollment: "open", secureAggregation: true, participants: ["a", "b", "c"].map((host) => ({ url: `https://${host}` })) },
    "enrollment",
  ],
  [{ secureAggregation: true, fraction: 0.5, participants: ["a", "b", "c", "d"].map((host) => ({ url: `https://${host}` })) }, "fraction"],
  [{ strategy: { name: "krum", f: 1 }, participants: [{ join: true }, { join: true }] }, "strategy"],
])("a federation of %j has the problem %s", (given, path) => {
  expect(createFederationBody.safeParse({ task: "softmax", ...given }).error?.issues[0]?.path[0]).toBe(path);
});
