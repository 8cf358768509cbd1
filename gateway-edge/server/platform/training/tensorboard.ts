import { BinaryWriter } from "@bufbuild/protobuf/wire";

/** One number of a curve. */
export interface Scalar {
  readonly tag: string;
  readonly step: number;
  readonly value: number;
  readonly atMs: number;
}

/** The first record of an event file, which TensorBoard requires. */
export function tensorboardStart(atMs: number): Uint8Array {
  return tfRecord(
    new BinaryWriter()
      .uint32(FIELD.wallTime)
      .double(atMs / 1000)
      .uint32(FIELD.version)
      .string("brain.Event:2")
      .finish(),
  );
}

/** One scalar as a record of an event file: `tensorflow.Event` with a summary of one `simple_value`. */
export function tensorboardScalar({ tag, step, value, atMs }: Scalar): Uint8Array {
  const summaryValue = new BinaryWriter().uint32(FIELD.tag).string(tag).uint32(FIELD.simpleValue).float(toFloat(value)).finish();
  const summary = new BinaryWriter().uint32(FIELD.value).bytes(summaryValue).finish();
  const event = new BinaryWriter()
    .uint32(FIELD.wallTime)
    .double(atMs / 1000)
    .uint32(FIELD.step)
    .int64(BigInt(step));
  return tfRecord(event.uint32(FIELD.summary).bytes(summary).finish());
}

/** Field numbers and wire types of tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto. */
const FIELD = {
  wallTime: (1 << 3) | 1,
  step: (2 << 3) | 0,
  version: (3 << 3) | 2,
  summary: (5 << 3) | 2,
  value: (1 << 3) | 2,
  tag: (1 << 3) | 2,
  simpleValue: (2 << 3) | 5,
} as const;

const FLOAT_MAX = 3.4028234663852886e38;

/** Numbers beyond the range of a float become its largest. */
const toFloat = (value: number): number => Math.max(-FLOAT_MAX, Math.min(FLOAT_MAX, value));

/** A TFRecord: length, masked CRC of the length, data, masked CRC of the data; little-endian. */
function tfRecord(data: Uint8Array): Uint8Array {
  const record = Buffer.alloc(data.byteLength + 16);
  record.writeBigUInt64LE(BigInt(data.byteLength), 0);
  record.writeUInt32LE(maskedCrc32c(record.subarray(0, 8)), 8);
  record.set(data, 12);
  record.writeUInt32LE(maskedCrc32c(data), 12 + data.byteLength);
  return record;
}

const MASK_DELTA = 0xa282ead8;

/** A CRC of data that contains CRCs is weak, so TFRecord rotates it and adds a constant. */
export function maskedCrc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (CRC32C[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  crc = (crc ^ 0xffffffff) >>> 0;
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

/** The table of Castagnoli's polynomial, reflected. */
const CRC32C = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});
