import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError } from "../../common/errors.ts";
import { parseJson, readBody } from "./read-body.ts";

const LIMIT = 1000;
let server: Server;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const read = async () => readBody(request, LIMIT);
    const answer = await read().then(
      (bytes) => ({ status: 200, text: String(bytes.length) }),
      (error: unknown) => ({ status: 413, text: (error as AppError).code }),
    );
    response.writeHead(answer.status, { connection: "close" }).end(answer.text);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => server.close());

function send(size: number, headers: Record<string, string | number>): Promise<{ status: number | undefined; text: string }> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: "127.0.0.1", method: "POST", headers }, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode, text });
    });
    request.on("error", reject);
    request.end(Buffer.alloc(size, 97));
  });
}

test("a body at the limit is read, one byte more is refused, declared or not", async () => {
  expect(await send(LIMIT, {})).toEqual({ status: 200, text: "1000" });
  expect(await send(LIMIT, { "transfer-encoding": "chunked" })).toEqual({ status: 200, text: "1000" });
  expect(await send(LIMIT + 1, {})).toEqual({ status: 413, text: "PAYLOAD_TOO_LARGE" });
  expect(await send(LIMIT + 1, { "transfer-encoding": "chunked" })).toEqual({ status: 413, text: "PAYLOAD_TOO_LARGE" });
});

test("the refusal of an endless body reaches the sender", async () => {
  expect(await send(200 * LIMIT, { "transfer-encoding": "chunked" })).toEqual({ status: 413, text: "PAYLOAD_TOO_LARGE" });
});

test("a compressed body is refused", async () => {
  expect((await send(10, { "content-encoding": "gzip" })).text).toBe("UNSUPPORTED_MEDIA_TYPE");
});

test("JSON deeper than 64 levels is refused, 64 is not", () => {
  const nested = (depth: number) => Buffer.from("[".repeat(depth) + "]".repeat(depth));
  expect(parseJson(nested(64))).toBeInstanceOf(Array);
  expect(() => parseJson(nested(65))).toThrow(AppError);
});

test("a body that is not JSON is refused without a word of it: it may hold a password", () => {
  const refusal = (text: string) => {
    try {
      return parseJson(Buffer.from(text));
    } catch (error) {
      return [(error as AppError).message, (error as AppError).cause, (error as AppError).internal];
    }
  };
  for (const text of ['{"p":"s3cret"x}', '{"p":"s3cret', "xs3cret", '"s3cret" s3cret', '{"p":s3cret}', `{"p":"${"s3cret".repeat(50)}"x}`]) {
    expect(refusal(text)).toEqual([expect.stringMatching(/^The body is not valid JSON: \S/), undefined, undefined]);
    expect(String(refusal(text))).not.toMatch(/3cret/);
  }
});

test("bytes that are not UTF-8 are not JSON; every text is", () => {
  const inString = (...bytes: number[]) => Buffer.from([0x22, ...bytes, 0x22]);
  for (const bytes of [
    inString(0xff, 0xfe),
    inString(0xc3),
    inString(0xed, 0xa0, 0x80),
    inString(0xc0, 0x80),
    inString(0xf4, 0x90, 0x80, 0x80),
  ]) {
    expect(() => parseJson(bytes)).toThrow(expect.objectContaining({ code: "INVALID_JSON", message: expect.stringContaining("UTF-8") }));
  }
  for (const text of ["\uFFFD", "ä€😀", "\u0000\uD7FF\u{10FFFF}"]) expect(parseJson(Buffer.from(JSON.stringify(text)))).toBe(text);
});

test("a body that breaks off is an error, also when the sender had left before it was read", async () => {
  const outcomes: Promise<unknown>[] = [];
  const cut = createServer((request) => {
    const readLater = request.headers["x-late"] === undefined ? undefined : once(request, "close");
    outcomes.push((readLater ?? Promise.resolve()).then(() => readBody(request, LIMIT)).catch((error: unknown) => error));
  });
  await once(cut.listen(0, "127.0.0.1"), "listening");
  for (const headers of [{}, { "x-late": "1" }]) {
    const { port } = cut.address() as AddressInfo;
    const request = httpRequest({ port, host: "127.0.0.1", method: "POST", headers: { ...headers, "content-length": 100 } });
    request.on("error", () => {});
    request.write("half");
    await once(cut, "request");
    request.destroy();
  }
  expect(await Promise.all(outcomes)).toEqual([
    expect.objectContaining({ code: expect.any(String) }),
    expect.objectContaining({ code: expect.any(String) }),
  ]);
  cut.close();
});
