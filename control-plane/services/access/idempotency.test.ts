import { openPlatform, type Platform } from "../platform-fixture.ts";
import { idempotentCallHandlers } from "./idempotency.ts";

const MINUTE_MS = 60_000;

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const begin = (callId: string) => {
  const request = { keyId: "key_1", idempotencyKey: "once", callId, bodySha256: Buffer.from("body") };
  return idempotentCallHandlers(platform.deps).beginIdempotentCall(request, platform.as("anonymous"));
};

test("a key is another call's only when its call has not renewed it for 15 minutes", async () => {
  expect(await begin("call_1")).toEqual({ answer: undefined });
  for (let renewal = 0; renewal < 4; renewal++) {
    await platform.advance(14 * MINUTE_MS);
    await expect(begin("call_2")).rejects.toMatchObject({ code: "IDEMPOTENCY_CONFLICT" });
    expect(await begin("call_1")).toEqual({ answer: undefined });
  }
  await platform.advance(16 * MINUTE_MS);
  expect(await begin("call_2")).toEqual({ answer: undefined });
  await expect(begin("call_1")).rejects.toMatchObject({ code: "IDEMPOTENCY_CONFLICT" });
});
