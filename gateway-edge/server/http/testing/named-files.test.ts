import type { Json } from "../../../stored/assistants/runs-fixture.ts";
import type { Fields, Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";
import { jsonCaller } from "./json-caller-fixture.ts";

const upstream = { apiKey: "up", params: "{}" };
const DEPLOYMENTS = [
  deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-4o", ...upstream }),
  deployment({ modelName: "compatible", providerKind: "openai", inferenceModelId: "x", baseUrl: "http://own/v1", ...upstream }),
  deployment({ modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", ...upstream }),
  deployment({ modelName: "gemini", providerKind: "gemini", inferenceModelId: "gemini-3.1-pro-preview", ...upstream }),
];

const requests: UpstreamRequest[] = [];
/** Answers each API in its format. */
const send: Send = async (request) => {
  requests.push(request);
  const body = JSON.stringify(answerOf(request.url));
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: (async function* () {
      yield Buffer.from(body);
    })(),
  };
};

function answerOf(url: string): object {
  if (url.endsWith("/responses")) {
    const content = [{ type: "output_text", text: "Yes.", annotations: [] }];
    const output = [{ id: "msg_up1", type: "message", role: "assistant", status: "completed", content }];
    return {
      id: "resp_up",
      object: "response",
      status: "completed",
      model: "gpt-4o",
      output,
      usage: { input_tokens: 9, output_tokens: 2 },
    };
  }
  if (url.endsWith("/count_tokens")) return { input_tokens: 9 };
  if (url.endsWith("/messages")) {
    const usage = { input_tokens: 9, output_tokens: 2 };
    const said = { role: "assistant", content: [{ type: "text", text: "Yes." }], stop_reason: "end_turn" };
    return { id: "msg_up", type: "message", model: "claude", ...said, usage };
  }
  if (url.includes(":generateContent")) {
    return { candidates: [{ content: { parts: [{ text: "Yes." }] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 9 } };
  }
  const choices = [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }];
  return { id: "c", object: "chat.completion", choices, usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } };
}

const control = new FakeControl();
control.deployments = DEPLOYMENTS;
const { secret } = control.addKey();
const other = control.addKey({ teamId: "team_2" });
let edge: TestEdge;
let call: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Json }>;
beforeAll(async () => {
  edge = await startEdge(control, { send });
  const ask = jsonCaller(edge.url, secret);
  call = (...asked) => ask(...asked).then(({ status, json }) => ({ status, body: json }));
});
afterAll(() => edge.close());
beforeEach(() => {
  requests.length = 0;
});

const sent = () => JSON.parse(String(requests.at(-1)?.body)) as Fields;

async function upload(bytes: Buffer | string, name: string, { purpose = "user_data", key = secret } = {}): Promise<string> {
  const form = new FormData();
  form.append("purpose", purpose);
  form.append("file", new Blob([bytes]), name);
  const response = await fetch(`${edge.url}/v1/files`, { method: "POST", headers: { authorization: `Bearer ${key}` }, body: form });
  return ((await response.json()) as { id: string }).id;
}

const PDF = Buffer.from("%PDF-1.7 a river");
const PNG = Buffer.from("\x89PNG\r\n\x1a\n picture", "latin1");
const pdfUrl = `data:application/pdf;base64,${PDF.toString("base64")}`;
const pngUrl = `data:image/png;base64,${PNG.toString("base64")}`;

const chat = (model: string, ...parts: object[]) =>
  call("POST", "/v1/chat/completions", { model, messages: [{ role: "user", content: [{ type: "text", text: "Read." }, ...parts] }] });
const respond = (model: string, ...parts: object[]) =>
  call("POST", "/v1/responses", { model, input: [{ role: "user", content: [{ type: "input_text", text: "Read." }, ...parts] }] });
const message = (model: string, ...parts: object[]) =>
  call("POST", "/v1/messages", {
    model,
    max_tokens: 9,
    messages: [{ role: "user", content: [{ type: "text", text: "Read." }, ...parts] }],
  });

test("a file that a chat names by its id arrives at the provider as data with its type and name", async () => {
  const [pdf, png, text] = [await upload(PDF, "a.pdf"), await upload(PNG, "b.png", { purpose: "vision" }), await upload("a,b", "c.csv")];
  const file = (id: string) => ({ type: "file", file: { file_id: id } });
  expect((await chat("compatible", file(pdf), file(png), file(text))).status).toBe(200);
  expect(JSON.stringify(sent()["messages"])).toBe(
    JSON.stringify([
      {
        role: "user",
        content: [
          { type: "text", text: "Read." },
          { type: "file", file: { filename: "a.pdf", file_data: pdfUrl } },
          { type: "image_url", image_url: { url: pngUrl } },
          { type: "file", file: { filename: "c.csv", file_data: `data:text/csv;base64,${Buffer.from("a,b").toString("base64")}` } },
        ],
      },
    ]),
  );
  expect((await chat("gemini", file(pdf))).status).toBe(200);
  expect(JSON.stringify(sent())).toContain(`"inlineData":{"mimeType":"application/pdf","data":"${PDF.toString("base64")}"}`);
  expect((await chat("claude", file(pdf))).status).toBe(200);
  expect(JSON.stringify(sent())).toContain(`"source":{"type":"base64","media_type":"application/pdf","data":"${PDF.toString("base64")}"}`);
});

test.each(["gpt", "compatible", "gemini"])("files of a response are data at %s, also in the turns after it", async (model) => {
  const [pdf, png] = [await upload(PDF, "a.pdf"), await upload(PNG, "b.png")];
  const first = await respond(model, { type: "input_file", file_id: pdf }, { type: "input_image", file_id: png, detail: "low" });
  expect(first.status).toBe(200);
  const data = [PDF, PNG].map((bytes) => bytes.toString("base64"));
  for (const each of data) expect(JSON.stringify(sent())).toContain(each);
  const items = await call("GET", `/v1/responses/${first.body.id}/input_items`);
  expect(items.body.data[0].content.slice(1)).toMatchObject([{ file_id: pdf }, { file_id: png }]);
  const next = await call("POST", "/v1/responses", { model, input: "And now?", previous_response_id: first.body.id });
  expect(next.status).toBe(200);
  for (const each of data) expect(JSON.stringify(sent())).toContain(each);
  expect(JSON.stringify(sent())).not.toContain(pdf);
});

test("a background response reads the files that it names", async () => {
  const pdf = await upload(PDF, "a.pdf");
  const content = [{ type: "input_file", file_id: pdf }];
  const { body } = await call("POST", "/v1/responses", { model: "gpt", background: true, input: [{ role: "user", content }] });
  for (let turn = 0; turn < 500 && requests.length === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect([body.status, JSON.stringify(sent()["input"]).includes(pdfUrl)]).toEqual(["queued", true]);
});

test.each(["claude", "compatible"])("files of a message are data at %s, and count as tokens", async (model) => {
  const [pdf, png, text] = [await upload(PDF, "a.pdf"), await upload(PNG, "b.png"), await upload("hello river", "c.txt")];
  const source = (id: string) => ({ source: { type: "file", file_id: id } });
  const parts = [
    { type: "document", ...source(pdf) },
    { type: "image", ...source(png) },
    { type: "document", title: "Mine", ...source(text) },
  ];
  expect((await message(model, ...parts)).status).toBe(200);
  const json = JSON.stringify(sent());
  for (const each of [PDF.toString("base64"), PNG.toString("base64"), "hello river", "a.pdf", "Mine"]) expect(json).toContain(each);
  expect(json).not.toContain("file_id");
  const counted = await call("POST", "/v1/messages/count_tokens", { model, messages: [{ role: "user", content: parts }] });
  expect([counted.status, counted.body.input_tokens > 0]).toEqual([200, true]);
});

test("a file by its id is reserved as the same data in the request", async () => {
  const pdf = await upload(PDF, "a.pdf");
  const reserved = async (ask: Promise<{ status: number }>) => {
    expect((await ask).status).toBe(200);
    return control.made.at(-1)?.reserved;
  };
  const byData = await reserved(chat("compatible", { type: "file", file: { filename: "a.pdf", file_data: pdfUrl } }));
  expect(await reserved(chat("compatible", { type: "file", file: { file_id: pdf } }))).toBe(byData);
  expect(byData).toBeGreaterThan((await reserved(chat("compatible"))) as bigint);
  const inResponse = await reserved(respond("compatible", { type: "input_file", filename: "a.pdf", file_data: pdfUrl }));
  expect(await reserved(respond("compatible", { type: "input_file", file_id: pdf }))).toBe(inResponse);
});

test("a line of a batch may name files", async () => {
  const pdf = await upload(PDF, "a.pdf");
  const messages = [{ role: "user", content: [{ type: "file", file: { file_id: pdf } }] }];
  const line = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "compatible", messages } };
  const input = await upload(JSON.stringify(line), "in.jsonl", { purpose: "batch" });
  await call("POST", "/v1/batches", { input_file_id: input, endpoint: "/v1/chat/completions", completion_window: "24h" });
  for (let turn = 0; turn < 500 && requests.length === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(JSON.stringify(sent())).toContain(pdfUrl);
});

test("files of other teams, files that are too large and files of another type are refused by name", async () => {
  const [foreign, large] = [await upload(PDF, "a.pdf", { key: other.secret }), await upload(Buffer.alloc(900_000), "large.bin")];
  const unknown = `file-${"0".repeat(33)}`;
  const text = await upload("hello", "c.txt");
  const file = (id: string) => ({ type: "file", file: { file_id: id } });
  const cases: [{ status: number; body: Json }, number, string | undefined][] = [
    [await chat("compatible", file(foreign)), 404, "messages[0].content[1].file.file_id"],
    [await chat("compatible", file(unknown)), 404, "messages[0].content[1].file.file_id"],
    [await chat("compatible", file(large)), 413, "messages[0].content[1].file.file_id"],
    [await respond("gpt", { type: "input_file", file_id: foreign }), 404, "input[0].content[1].file_id"],
    [await respond("gpt", { type: "input_image", file_id: text }), 400, "input[0].content[1].file_id"],
    [await respond("compatible", { type: "input_image", file_id: "file-ofTheProvider" }), 400, "input[0].content[1].file_id"],
    [await message("claude", { type: "document", source: { type: "file", file_id: foreign } }), 404, undefined],
  ];
  expect(cases.map(([{ status, body }]) => [status, body.error.param])).toEqual(cases.map(([, status, param]) => [status, param]));
  expect(requests).toEqual([]);
});

test("ids of the provider's own files pass to servers that have the API", async () => {
  const parts = [{ type: "input_file", file_id: "file-6F2ksmvXxt4VdoqmHRw6kL" }];
  expect((await respond("gpt", ...parts)).status).toBe(200);
  expect(JSON.stringify(sent()["input"])).toContain('"file_id":"file-6F2ksmvXxt4VdoqmHRw6kL"');
  expect((await message("claude", { type: "document", source: { type: "file", file_id: "file_011CNha8iCJcU1wXNR6q4V8w" } })).status).toBe(
    200,
  );
  expect(JSON.stringify(sent())).toContain('"source":{"type":"file","file_id":"file_011CNha8iCJcU1wXNR6q4V8w"}');
});

test("a document by URL is refused by name where the provider fetches none, and passes where it does", async () => {
  const url = "https://a.test/d.pdf";
  const [file, document] = [
    { type: "input_file", file_url: url },
    { type: "document", source: { type: "url", url } },
  ];
  const refused = await respond("compatible", file);
  expect([refused.status, refused.body.error.param]).toEqual([400, "input[0].content[1].file_url"]);
  expect(refused.body.error.message).toContain("file_data");
  const inMessage = await message("compatible", document);
  expect([inMessage.status, inMessage.body.error.message]).toEqual([400, expect.stringContaining("messages[0].content[1].source.url")]);
  expect(requests).toEqual([]);
  for (const asked of [respond("claude", file), message("claude", document), respond("gpt", file), respond("gemini", file)]) {
    expect((await asked).status).toBe(200);
    expect(JSON.stringify(sent())).toContain(url);
  }
});
