import { hash } from "node:crypto";
import { SIGNATURE_HEADERS, signatureOf } from "../call-signature.ts";
import { type Node, startNode } from "../node-harness.ts";

const SECRET = "a secret of one federation";
const BODY = JSON.stringify({ dataset: "digits", config: { epochs: 1 } });

let node: Node;
beforeAll(async () => {
  node = await startNode({ secret: SECRET, threads: 1 });
}, 60_000);
afterAll(() => node?.stop());

let calls = 0;
function signed(
  change: Partial<{ secret: string; path: string; timestamp: string; nonce: string; body: string }> = {},
): Record<string, string> {
  const { secret = SECRET, path = "/v1/train", timestamp = String(Date.now()), nonce = `nonce ${calls++}`, body = BODY } = change;
  const bodySha256 = hash("sha256", body, "hex");
  return {
    [SIGNATURE_HEADERS.signature]: signatureOf(secret, { method: "POST", path, timestamp, nonce, bodySha256 }),
    [SIGNATURE_HEADERS.nonce]: nonce,
    [SIGNATURE_HEADERS.timestamp]: timestamp,
    [SIGNATURE_HEADERS.bodySha256]: bodySha256,
  };
}

async function send(headers: Record<string, string>, body: string = BODY): Promise<{ status: number; error: string }> {
  const answer = await fetch(`${node.url}/v1/train`, { method: "POST", headers, body });
  const { error = "" } = (await answer.json()) as { error?: string };
  return { status: answer.status, error };
}

test("a call that the coordinator signed is worked on, once", async () => {
  const headers = signed();
  expect((await send(headers)).status).toBe(200);
  expect(await send(headers)).toEqual({ status: 401, error: "The nonce of this call was used before." });
}, 30_000);

test("unsigned, signed with another secret or for another path, out of time or with another body, it is refused", async () => {
  expect((await send({})).status).toBe(401);
  expect((await send(signed({ secret: "the secret of another" }))).error).toContain("signature of this call is missing or wrong");
  expect((await send(signed({ path: "/v1/evaluate" }))).error).toContain("signature of this call is missing or wrong");
  expect((await send(signed({ timestamp: String(Date.now() - 400_000) }))).error).toContain("Synchronize the clocks");
  expect((await send(signed({ timestamp: "soon" }))).error).toContain("Synchronize the clocks");
  expect((await send(signed(), BODY.replace("1", "2"))).error).toContain("not the one that was signed");
}, 30_000);
