import { createMemoryRecords } from "../records/memory-records-fixture.ts";
import { checkInput, LINES_MAX } from "./check-input.ts";
import { type InputLine, inputLines } from "./input-lines.ts";

const FILE = { teamId: "team_1", fileId: "file_1", lineBytesMax: 100_000 };

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function open(text: string) {
  const records = createMemoryRecords({ clock: { now: () => 0 } });
  await records.putContent("team_1", "file_1", once(text));
  return records;
}

async function read(text: string, from = { line: 1, offset: 0 }): Promise<InputLine[]> {
  const lines: InputLine[] = [];
  for await (const line of inputLines(await open(text), FILE, from)) lines.push(line);
  return lines;
}

test("every line is there once, numbered, over windows and with either line end", async () => {
  const texts = Array.from({ length: 40_000 }, (_, index) => `line ${index} ${"ü".repeat(index % 80)}`);
  const content = `\uFEFF${texts.join("\r\n")}`;
  expect(Buffer.byteLength(content)).toBeGreaterThan(3 * 1024 * 1024);
  const lines = await read(content);
  expect(lines.map(({ text }) => text)).toEqual(texts);
  expect(lines.map(({ line }) => line)).toEqual(texts.map((_, index) => index + 1));
  const middle = lines[25_000];
  const rest = await read(content, { line: 25_002, offset: middle?.next ?? 0 });
  expect([rest.length, rest[0]?.text, rest[0]?.line]).toEqual([texts.length - 25_001, texts[25_001], 25_002]);
});

test("the last line needs no newline, and a last newline makes no line", async () => {
  expect((await read("a\n\nb")).map(({ text, next }) => [text, next])).toEqual([
    ["a", 2],
    ["", 3],
    ["b", 4],
  ]);
  expect((await read("a\n")).map(({ text }) => text)).toEqual(["a"]);
  expect(await read("")).toEqual([]);
});

const request = (fields: object) => JSON.stringify({ custom_id: "a", method: "POST", url: "/v1/embeddings", body: {}, ...fields });
const check = async (text: string) => checkInput(inputLines(await open(text), FILE, { line: 1, offset: 0 }), "/v1/embeddings");

test("every fault is named with its line, and a right file counts its requests", async () => {
  const good = Array.from({ length: 3 }, (_, index) => request({ custom_id: `id-${index}` }));
  expect(await check(good.join("\n\n"))).toEqual({ total: 3, errors: [] });
  const { errors } = await check(
    [
      request({}),
      "{ broken",
      "",
      "[1]",
      request({ custom_id: "" }),
      request({ custom_id: "m", method: "GET" }),
      request({ custom_id: "u", url: "/v1/chat/completions" }),
      request({ custom_id: "b", body: "text" }),
      request({}),
      request({ custom_id: "s", body: { stream: true } }),
      "[".repeat(99_000),
    ].join("\n"),
  );
  expect(errors.map(({ line, code, param }) => [line, code, param])).toEqual([
    [2, "invalid_json_line", null],
    [4, "invalid_json_line", null],
    [5, "missing_required_parameter", "custom_id"],
    [6, "invalid_method", "method"],
    [7, "invalid_url", "url"],
    [8, "missing_required_parameter", "body"],
    [9, "duplicate_custom_id", "custom_id"],
    [10, "unsupported_parameter", "body.stream"],
    [11, "invalid_json_line", null],
  ]);
});

test("a file that holds nothing, too much, or a line without end is refused as a whole", async () => {
  expect((await check("\n\n")).errors).toMatchObject([{ line: null, code: "empty_file" }]);
  const many = Array.from({ length: LINES_MAX + 1 }, (_, index) => request({ custom_id: `${index}` }));
  expect((await check(many.join("\n"))).errors).toMatchObject([{ line: LINES_MAX + 1, code: "too_many_requests" }]);
  expect((await check("x".repeat(2_000_000))).errors).toMatchObject([{ line: null, code: "invalid_file" }]);
  expect((await check(Array.from({ length: 300 }, () => "{").join("\n"))).errors).toHaveLength(100);
});
