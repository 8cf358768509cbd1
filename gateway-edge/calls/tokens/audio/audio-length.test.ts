import fc from "fast-check";
import { AudioLength } from "./audio-length.ts";

function lengthOf(file: Buffer, pieceBytes = file.length): number {
  const length = new AudioLength();
  for (let at = 0; at < file.length; at += pieceBytes) length.add(file.subarray(at, at + pieceBytes));
  return length.milliseconds();
}

const text = (value: string) => Buffer.from(value, "latin1");
function numbers(write: "writeUInt16LE" | "writeUInt32LE" | "writeUInt32BE", bytes: number, values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [index, value] of values.entries()) buffer[write](value, index * bytes);
  return buffer;
}
const u16 = (...values: number[]) => numbers("writeUInt16LE", 2, values);
const u32 = (...values: number[]) => numbers("writeUInt32LE", 4, values);
const big32 = (...values: number[]) => numbers("writeUInt32BE", 4, values);

interface Sound {
  rate: number;
  channels: number;
  bits: number;
  seconds: number;
  said?: number;
}

function wav({ rate, channels, bits, seconds, said }: Sound): Buffer {
  const samples = Buffer.alloc(rate * channels * (bits / 8) * seconds);
  const format = Buffer.concat([
    text("fmt "),
    u32(16),
    u16(1, channels),
    u32(rate, (rate * channels * bits) / 8),
    u16((channels * bits) / 8, bits),
  ]);
  // A chunk of odd length is padded.
  const list = Buffer.concat([text("LIST"), u32(3), Buffer.alloc(4)]);
  const data = Buffer.concat([text("data"), u32(said ?? samples.length), samples]);
  return Buffer.concat([text("RIFF"), u32(0), text("WAVE"), list, format, data]);
}

/** Frames of MPEG 1 layer III at 44,100 Hz: 1,152 samples each. */
function mp3(kilobits: readonly (128 | 32)[]): Buffer {
  const frames = kilobits.map((rate) => {
    const frame = Buffer.alloc(Math.floor((144 * rate * 1000) / 44_100));
    frame.writeUInt32BE(rate === 128 ? 0xfffb9000 : 0xfffb1000);
    return frame;
  });
  return Buffer.concat(frames);
}
const MP3_FRAME_MS = (1152 * 1000) / 44_100;
const id3 = (size: number) => Buffer.concat([text("ID3"), Buffer.from([4, 0, 0, 0, 0, size >> 7, size & 127]), Buffer.alloc(size)]);

function flac({ rate, channels, bits, seconds }: Sound): Buffer {
  const packed = Buffer.alloc(8);
  packed.writeBigUInt64BE((BigInt(rate) << 44n) | (BigInt(channels - 1) << 41n) | (BigInt(bits - 1) << 36n) | BigInt(rate * seconds));
  return Buffer.concat([text("fLaC"), big32(34), Buffer.alloc(10), packed, Buffer.alloc(100_000)]);
}

function oggPage(flags: number, place: number, body: Buffer, segments?: 0): Buffer {
  const head = Buffer.alloc(27);
  head.write("OggS", "latin1");
  head[5] = flags;
  head.writeBigUInt64LE(BigInt(place), 6);
  const sizes = segments === 0 ? [] : [...Array(Math.floor(body.length / 255)).fill(255), body.length % 255];
  head[26] = sizes.length;
  return Buffer.concat([head, Buffer.from(sizes), body]);
}
const opusHead = Buffer.concat([text("OpusHead"), Buffer.alloc(11)]);
const vorbisHead = (rate: number) => Buffer.concat([text("\x01vorbis"), u32(0), Buffer.from([2]), u32(rate), Buffer.alloc(14)]);
const ogg = (head: Buffer, places: readonly number[]) =>
  Buffer.concat([oggPage(2, 0, head), ...places.map((place) => oggPage(0, place, Buffer.alloc(20_000)))]);

const box = (name: string, ...content: Buffer[]) => {
  const body = Buffer.concat(content);
  return Buffer.concat([big32(body.length + 8), text(name), body]);
};
const longBox = (name: string, body: Buffer) => Buffer.concat([big32(1), text(name), big32(0, body.length + 16), body]);
const movie = (scale: number, duration: number) => box("moov", box("mvhd", big32(0, 0, 0, scale, duration), Buffer.alloc(80)), box("trak"));
const longMovie = (scale: number, duration: number) =>
  box("moov", box("mvhd", big32(1 << 24, 0, 0, 0, 0, scale, 0, duration), Buffer.alloc(80)));
const sound = Buffer.alloc(50_000);
const m4a = (...boxes: Buffer[]) => Buffer.concat([box("ftyp", text("M4A ")), ...boxes]);

const said = (file: Buffer, at: number, ...bytes: number[]) => {
  const changed = Buffer.from(file);
  changed.set(bytes, at);
  return changed;
};
const FORGED: readonly [string, Buffer, number][] = [
  ["MP4 whose head says a millisecond", m4a(movie(1000, 1), box("mdat", Buffer.alloc(2_000_000))), 10_000],
  ["Ogg whose pages say a millisecond", ogg(opusHead, Array(100).fill(48)), 512],
  [
    "FLAC whose head says that it has next to no samples",
    said(flac({ rate: 655_350, channels: 8, bits: 32, seconds: 1 }), 18, 0x9f, 0xff, 0x6f, 0xf0, 0, 0, 0, 1),
    9216,
  ],
  ["WAV that says that MP3 are samples of 32 bits", said(wav({ rate: 48_000, channels: 2, bits: 32, seconds: 5 }), 32, 0x55), 513],
];

test.each(FORGED)("%s is at least as long as its size takes at the highest bit rate", (_name, file, bitsPerMs) => {
  expect(lengthOf(file)).toBeGreaterThanOrEqual(Math.ceil((file.length * 8) / bitsPerMs));
});

test("a tag of MP3 covers no sound after the first frame", () => {
  const sound = Buffer.concat([mp3([128]), id3(16_000), mp3(Array(100).fill(128))]);
  const covered = Buffer.concat([mp3([128]), Buffer.from("ID3\x04\0\0\x7f\x7f\x7f\x7f", "latin1"), mp3(Array(2000).fill(128))]);
  expect(lengthOf(sound)).toBeGreaterThanOrEqual(101 * MP3_FRAME_MS - 1);
  expect(lengthOf(covered)).toBeGreaterThan(1990 * MP3_FRAME_MS);
});

const FILES: readonly [string, Buffer, number][] = [
  ["WAV, 8 kHz mono", wav({ rate: 8000, channels: 1, bits: 16, seconds: 10 }), 10_000],
  ["WAV, 48 kHz stereo", wav({ rate: 48_000, channels: 2, bits: 24, seconds: 2 }), 2000],
  ["WAV of a recorder that did not know its length", wav({ rate: 8000, channels: 1, bits: 8, seconds: 3, said: 0 }), 3000],
  ["WAV that says more than it has", wav({ rate: 8000, channels: 1, bits: 8, seconds: 3, said: 4_000_000 }), 3000],
  ["MP3 of one bit rate", mp3(Array(100).fill(128)), 100 * MP3_FRAME_MS],
  [
    "MP3 whose bit rate falls after its beginning, after a tag",
    Buffer.concat([id3(300), mp3([128, 128, ...Array(200).fill(32)])]),
    202 * MP3_FRAME_MS,
  ],
  ["MP3 with junk between its frames", Buffer.concat([mp3([128, 32]), Buffer.alloc(777), mp3([32])]), 3 * MP3_FRAME_MS],
  ["FLAC", flac({ rate: 16_000, channels: 1, bits: 16, seconds: 30 }), 30_000],
  ["Opus", ogg(opusHead, [48_000, 96_000, 144_000]), 3000],
  [
    "Opus with a page that has only its head",
    Buffer.concat([ogg(opusHead, [48_000]), oggPage(0, 48_000, Buffer.alloc(0), 0), oggPage(0, 96_000, Buffer.alloc(9))]),
    2000,
  ],
  ["Vorbis", ogg(vorbisHead(22_050), [22_050, 44_100]), 2000],
  ["two streams of Ogg after each other", Buffer.concat([ogg(opusHead, [48_000]), ogg(vorbisHead(8000), [8000, 16_000])]), 3000],
  ["M4A with its head before the sound", m4a(movie(1000, 7000), box("mdat", sound)), 7000],
  ["M4A with its head after the sound", m4a(longBox("mdat", sound), longMovie(44_100, 44_100 * 5)), 5000],
];

test.each(FILES)("%s is as long as it plays, however its bytes arrive", (_name, file, expected) => {
  const wanted = Math.ceil(expected);
  expect([lengthOf(file), lengthOf(file, 1), lengthOf(file, 4097)]).toEqual([wanted, wanted, wanted]);
});

test("a file that says nothing of its length is judged by its size and what it is", () => {
  const webm = Buffer.concat([Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), Buffer.alloc(47_996)]);
  const live = m4a(movie(1000, 0), box("mdat", Buffer.alloc(95_844)));
  expect([lengthOf(webm), lengthOf(live), lengthOf(Buffer.alloc(64_000)), lengthOf(text("short"))]).toEqual([
    8000,
    Math.ceil(live.length / 12),
    8000,
    1,
  ]);
});

test("what follows too much junk in an MP3 is paid by its size", () => {
  expect(lengthOf(Buffer.concat([mp3([128]), Buffer.alloc(800_000)]))).toBe(Math.ceil(MP3_FRAME_MS + 800_000 / 16));
});

test("no file is longer than what is reserved for its size, and none makes the reader fail", () => {
  const begins = FILES.map(([, file]) => file);
  const damaged = fc.tuple(fc.constantFrom(...begins), fc.nat(200), fc.uint8Array({ maxLength: 60 })).map(([file, at, bytes]) => {
    return Buffer.concat([file.subarray(0, at), bytes, file.subarray(at + bytes.length, 4000)]);
  });
  fc.assert(
    fc.property(damaged, (file) => {
      const length = lengthOf(file);
      expect(length).toBe(lengthOf(file, 13));
      expect(length).toBeGreaterThanOrEqual(0);
      expect(length).toBeLessThanOrEqual(Math.ceil((file.length * 8) / 16));
    }),
    { numRuns: 500 },
  );
});
