import { createHash, createHmac } from "node:crypto";
import type { Clock } from "../../../common/clock.ts";
import type { Signing, UpstreamRequest } from "../providers/provider.ts";
import { createAwsSigner } from "./sign-aws.ts";

// Keys, time and signatures of AWS's published test suite for Signature Version 4.
const clock: Clock = { now: () => Date.UTC(2015, 7, 30, 12, 36, 0), monotonicMs: () => 0, sleep: async () => {}, after: () => () => {} };
const signing: Extract<Signing, { type: "aws-sigv4" }> = {
  type: "aws-sigv4",
  region: "us-east-1",
  service: "service",
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const sign = createAwsSigner(clock);
const HOST = "https://example.amazonaws.com";

const VECTORS: Readonly<Record<string, { request: UpstreamRequest; signed: string; signature: string }>> = {
  "get-vanilla": {
    request: { method: "GET", url: `${HOST}/`, headers: {}, body: "" },
    signed: "host;x-amz-date",
    signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
  },
  "get-vanilla-query-order-key-case": {
    request: { method: "GET", url: `${HOST}/?Param2=value2&Param1=value1`, headers: {}, body: "" },
    signed: "host;x-amz-date",
    signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  },
  "get-unreserved": {
    request: { method: "GET", url: `${HOST}/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz`, headers: {}, body: "" },
    signed: "host;x-amz-date",
    signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
  },
  "post-vanilla": {
    request: { url: `${HOST}/`, headers: {}, body: "" },
    signed: "host;x-amz-date",
    signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
  },
  "post-header-value-case": {
    request: { url: `${HOST}/`, headers: { "My-Header1": "VALUE1" }, body: "" },
    signed: "host;my-header1;x-amz-date",
    signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
  },
  "post-x-www-form-urlencoded": {
    request: { url: `${HOST}/`, headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: "Param1=value1" },
    signed: "content-type;host;x-amz-date",
    signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  },
};

test.each(Object.entries(VECTORS))("AWS's vector %s", async (_name, { request, signed, signature }) => {
  const { headers } = await sign(request, signing);
  expect(headers["authorization"]).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${signed}, Signature=${signature}`,
  );
});

describe("a request for Bedrock", () => {
  const request: UpstreamRequest = {
    url: `https://bedrock-runtime.us-east-1.amazonaws.com/model/${encodeURIComponent("us.anthropic.claude-v1:0")}/converse`,
    headers: { "content-type": "application/json", "user-agent": "x" },
    body: '{"messages":[]}',
    signing,
  };

  test("the path is encoded once more in what is signed, and stays as it is on the wire", async () => {
    const result = await sign(request, { ...signing, service: "bedrock", sessionToken: "token" });
    const canonical = [
      "POST",
      "/model/us.anthropic.claude-v1%253A0/converse",
      "",
      "content-type:application/json",
      "host:bedrock-runtime.us-east-1.amazonaws.com",
      "x-amz-date:20150830T123600Z",
      "x-amz-security-token:token",
      "",
      "content-type;host;x-amz-date;x-amz-security-token",
      createHash("sha256").update('{"messages":[]}').digest("hex"),
    ].join("\n");
    const scope = "20150830/us-east-1/bedrock/aws4_request";
    const text = `AWS4-HMAC-SHA256\n20150830T123600Z\n${scope}\n${createHash("sha256").update(canonical).digest("hex")}`;
    let key: string | Buffer = `AWS4${signing.secretAccessKey}`;
    for (const step of scope.split("/")) key = createHmac("sha256", key).update(step).digest();
    expect(result.headers["authorization"]).toContain(`Signature=${createHmac("sha256", key).update(text).digest("hex")}`);
    expect(result.url).toBe(request.url);
    expect(result.url).toContain("%3A0/converse");
  });

  test("keeps its own headers, says the time and the session, and needs no more signing", async () => {
    const result = await sign(request, { ...signing, sessionToken: "token" });
    expect(result).not.toHaveProperty("signing");
    expect(result.headers).toMatchObject({ "user-agent": "x", "x-amz-date": "20150830T123600Z", "x-amz-security-token": "token" });
    expect(JSON.stringify(result)).not.toContain(signing.secretAccessKey);
  });

  test("a body that is written while it is read cannot be signed", async () => {
    const body = (async function* () {
      yield new Uint8Array();
    })();
    await expect(sign({ ...request, body }, signing)).rejects.toMatchObject({ code: "SERVER_ERROR" });
  });
});
