import { readAll } from "../provider-contract-support.ts";
import { readNdjson } from "./ndjson-reader.ts";
import { readSse } from "./sse-reader.ts";

async function* bytes(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}
const MEBIBYTE = "x".repeat(1024 * 1024);

test("lines end in LF, CRLF or CR; comments are skipped, data lines joined, an unfinished event dropped", async () => {
  const events = await readAll(
    readSse(bytes("\uFEFFevent: a\r", "\ndata: 1\r\n\r\n: note\n\n", "data:2\ndata: 3\nid: 9\n\n", "data: 4\r\r", "data: 5\n")),
  );
  expect(events).toEqual([
    { event: "a", data: "1" },
    { event: undefined, data: "2\n3" },
    { event: undefined, data: "4" },
  ]);
  expect(await readAll(readSse(bytes("data: last\r\r")))).toEqual([{ event: undefined, data: "last" }]);
});

test("an event may hold an image; one without an end is refused at its limit, in one line or in many", async () => {
  const image = Array.from({ length: 20 }, () => MEBIBYTE);
  expect((await readAll(readSse(bytes("data: ", ...image, "\n\n"))))[0]?.data).toHaveLength(20 * MEBIBYTE.length);
  const inOne = Array.from({ length: 25 }, () => MEBIBYTE);
  await expect(readAll(readSse(bytes("data: ", ...inOne)))).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  const inMany = Array.from({ length: 25 }, () => `data: ${MEBIBYTE}\n`);
  await expect(readAll(readSse(bytes(...inMany)))).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
});

test("lines of JSON: blank ones skipped, the last one needs no end, an endless one is refused", async () => {
  expect(await readAll(readNdjson(bytes('{"a":', '1}\r\n\n{"b":2}')))).toEqual([
    { event: undefined, data: '{"a":1}' },
    { event: undefined, data: '{"b":2}' },
  ]);
  await expect(readAll(readNdjson(bytes(...Array.from({ length: 9 }, () => MEBIBYTE))))).rejects.toMatchObject({
    code: "UPSTREAM_UNAVAILABLE",
  });
});
