import { transcriptionsJob } from "./transcriptions.ts";

const job = (milliseconds: number) =>
  transcriptionsJob({
    operation: "transcriptions",
    model: "whisper-1",
    form: {} as never,
    fileBytesMax: 1_000_000,
    length: { milliseconds: () => milliseconds },
    request: () => ({}) as never,
  });
const billed = (milliseconds: number, textTokens: number) =>
  job(milliseconds).estimate?.({ textTokens } as never)?.amounts?.["millisecond"]?.input;

test("a transcript costs at least the time that it takes to say it, whatever length the file says that it has", () => {
  expect(billed(1, 1200)).toBe(100_000);
  expect(billed(240_000, 1200)).toBe(240_000);
  // Never more than was reserved: 1,000,000 bytes at 16 bits per millisecond.
  expect(billed(1, 1_000_000)).toBe(500_000);
});
