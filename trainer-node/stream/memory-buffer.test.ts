import { createKernelMemory } from "../compute/kernels/kernel-memory.ts";
import { TrainerError } from "../errors.ts";
import { createBase64Stream } from "./base64-stream.ts";
import { createMemoryBuffer } from "./memory-buffer.ts";

const bytesOf = (length: number) => Buffer.from(Array.from({ length }, (_, index) => (index * 167 + 13) % 256));

describe("a buffer in the kernels' memory", () => {
  test("gives back base64 of every length, in pieces of any size", () => {
    const buffer = createMemoryBuffer(createKernelMemory(), 1_000_000);
    for (let length = 0; length < 70; length++) {
      const text = Buffer.from(bytesOf(length).toString("base64"));
      for (const piece of [1, 3, 16, 17, 100]) {
        buffer.clear();
        const stream = createBase64Stream(buffer, "parameters");
        for (let at = 0; at < text.byteLength; at += piece) stream.write(text.subarray(at, at + piece));
        stream.end();
        expect(Buffer.from(buffer.bytes)).toEqual(bytesOf(length));
      }
    }
  });

  test("what is reserved stays when the buffer goes on and its memory grows", () => {
    const memory = createKernelMemory();
    const buffer = createMemoryBuffer(memory, 2 ** 30);
    buffer.append(bytesOf(1000));
    const at = memory.reserve(1000);
    buffer.clear();
    buffer.room(200_000_000);
    buffer.append(bytesOf(3));
    expect(Buffer.from(memory.buffer, at, 1000)).toEqual(bytesOf(1000));
    expect(Buffer.from(buffer.bytes)).toEqual(bytesOf(3));
  });

  test("refuses more than its limit and more than can be addressed, as too large a part", () => {
    expect(() => createMemoryBuffer(createKernelMemory(), 10).append(bytesOf(11))).toThrow(TrainerError);
    const small = createMemoryBuffer(createKernelMemory({ bytesMax: 400_000 }), 2 ** 30);
    expect(() => small.room(500_000)).toThrow(expect.objectContaining({ kind: "PAYLOAD_TOO_LARGE" }));
  });
});
