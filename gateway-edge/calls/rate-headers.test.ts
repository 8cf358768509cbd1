import { AppError } from "../../common/errors.ts";
import { fromErrorInfo, toErrorInfo } from "../../common/grpc/status.ts";
import { FakeControl, startEdge, USER_TOKEN } from "../server/http/testing/edge-fixture.ts";
import { platformErrorBody } from "../server/middleware/error-response.ts";
import { headerFields } from "./header-list.ts";
import { rateHeaders } from "./rate-headers.ts";

const reached = new AppError("RATE_LIMIT_EXCEEDED", "The team's limit of 5 requests per minute is reached. Try again in 7 s.", {
  retryAfterSeconds: 7,
  rate: { limitRequests: 5, remainingRequests: 0, resetSeconds: 7 },
});
const headers = {
  "x-ratelimit-limit-requests": "5",
  "x-ratelimit-remaining-requests": "0",
  "x-ratelimit-reset-requests": "7000ms",
};

test("only limited units have headers", () => {
  expect(rateHeaders(undefined)).toEqual([]);
  expect(rateHeaders({ resetSeconds: 0 })).toEqual([]);
  expect(headerFields(rateHeaders({ limitTokens: 9, remainingTokens: -1, resetSeconds: 0.5 }))).toEqual({
    "x-ratelimit-limit-tokens": "9",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "500ms",
  });
});

test("a refusal carries its limits over the wire as a field of its own, and no body shows them as details", () => {
  const arrived = fromErrorInfo(toErrorInfo(reached));
  expect(arrived.rate).toEqual(reached.rate);
  expect(platformErrorBody(arrived, "req_1")).toEqual({ error: reached.message, code: "QUOTA_EXCEEDED", requestId: "req_1" });
});

test("both APIs answer a refused rate limit with 429, retry-after and x-ratelimit-*", async () => {
  const control = new FakeControl();
  const { secret } = control.addKey();
  control.refuseReserve = reached;
  const edge = await startEdge(control);
  try {
    const body = { model: "echo", messages: [{ role: "user", content: "hi" }] };
    const gateway = await edge.post("/v1/chat/completions", body, { "x-gw-api-key": secret });
    const platform = await edge.post("/api/gw/messages", { ...body, apiKey: secret }, { authorization: `Bearer ${USER_TOKEN}` });
    for (const response of [gateway, platform]) {
      expect(response.status).toBe(429);
      expect(Object.fromEntries(response.headers)).toMatchObject({ ...headers, "retry-after": "7" });
    }
    expect(await gateway.json()).toMatchObject({ error: { message: reached.message, code: "rate_limit_exceeded" } });
    const refusal = (await platform.json()) as object;
    expect(refusal).toMatchObject({ error: reached.message, code: "QUOTA_EXCEEDED" });
    expect(refusal).not.toHaveProperty("details");
  } finally {
    await edge.close();
  }
});

test("a reservation says which model and whose key: an alias and a deployment's id stand for their group", async () => {
  const control = new FakeControl();
  const { secret } = control.addKey({ isLimited: true });
  control.settings = JSON.stringify({ router_settings: { model_group_alias: { quick: "echo" } } });
  const edge = await startEdge(control);
  try {
    for (const model of ["echo", "quick", "dep_echo"]) {
      await edge.post("/v1/chat/completions", { model, messages: [{ role: "user", content: "hi" }] }, { "x-gw-api-key": secret });
    }
    expect(control.reserved.map(({ model, userId }) => [model, userId])).toEqual(Array(3).fill(["echo", 7n]));
  } finally {
    await edge.close();
  }
});
