import { type Ending, type WriteOptions, writeText } from "./write-text.ts";

/** A model that knows one text by heart, and says where it was asked to go on. */
async function written(text: string, options: Partial<WriteOptions> = {}): Promise<{ pieces: string[]; ending: Ending; counts: number[] }> {
  const all = Buffer.from(text);
  const counts: number[] = [];
  const writing = writeText({
    prompt: "",
    bytesMax: 10_000,
    stop: [],
    sampling: { temperature: 0, topP: 1, seed: 0 },
    signal: new AbortController().signal,
    next: async ({ position, count }) => {
      counts.push(count);
      return { bytes: [...all.subarray(position, position + count)], ended: position + count > all.length };
    },
    ...options,
  });
  const pieces: string[] = [];
  for (let step = await writing.next(); ; step = await writing.next()) {
    if (step.done) return { pieces, ending: step.value, counts };
    pieces.push(step.value);
  }
}

test("pieces make the text, the first one is short, and a letter of several bytes is never cut in two", async () => {
  const text = "ü€😀".repeat(100);
  const { pieces, ending, counts } = await written(text);
  expect(pieces.join("")).toBe(text);
  expect(pieces.join("")).not.toContain("\uFFFD");
  expect(ending).toEqual({ reason: "stop", bytes: Buffer.byteLength(text) });
  expect(counts.slice(0, 6)).toEqual([16, 32, 64, 128, 256, 256]);
});

test.each(Array.from({ length: 24 }, (_, place) => place))(
  "a stop after %i bytes is found wherever a piece ends, and nothing of it is shown",
  async (place) => {
    const { pieces, ending } = await written(`${"x".repeat(place)}STOP and more`, { stop: ["STOP", "more"] });
    expect(pieces.join("")).toBe("x".repeat(place));
    expect(ending).toEqual({ reason: "stop", bytes: place });
  },
);

test("what only begins like a stop is shown", async () => {
  const { pieces, ending } = await written("STO STO ST", { stop: ["STOP"] });
  expect(pieces.join("")).toBe("STO STO ST");
  expect(ending.reason).toBe("stop");
});

test("never more bytes than asked for; a letter that is cut by the limit is marked, not dropped in silence", async () => {
  const { pieces, ending, counts } = await written("abc€", { bytesMax: 4 });
  expect(pieces.join("")).toBe("abc\uFFFD");
  expect(ending).toEqual({ reason: "length", bytes: 4 });
  expect(counts).toEqual([4]);
});

test("an answer whose client disconnected ends after its piece", async () => {
  const left = new AbortController();
  let asked = 0;
  const next = async () => {
    asked++;
    left.abort();
    return { bytes: [120], ended: false };
  };
  await expect(written("", { signal: left.signal, next })).rejects.toThrow();
  expect(asked).toBe(1);
});
