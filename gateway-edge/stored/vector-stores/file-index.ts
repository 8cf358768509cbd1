import { product, unit } from "../../../common/vectors.ts";

/** The chunks of one file and their vectors. */
export interface FileIndex {
  readonly texts: readonly string[];
  /** One after the other, each of `dimensions` numbers and of length 1. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

const HEAD_BYTES = 8;

/** Scales vectors to length 1, so that their product is the cosine of their angle. */
export function fileIndex(texts: readonly string[], vectors: readonly (readonly number[])[]): FileIndex {
  const dimensions = vectors[0]?.length ?? 0;
  const all = new Float32Array(vectors.length * dimensions);
  for (const [place, vector] of vectors.entries()) all.set(unit(vector), place * dimensions);
  return { texts, vectors: all, dimensions };
}

/** A length, the texts as JSON, then the vectors as little-endian float32. */
export function encodeIndex({ texts, vectors, dimensions }: FileIndex): Buffer {
  const json = Buffer.from(JSON.stringify(texts));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(json.length, 0);
  head.writeUInt32LE(dimensions, 4);
  const numbers = Buffer.alloc(vectors.length * 4);
  for (const [place, value] of vectors.entries()) numbers.writeFloatLE(value, place * 4);
  return Buffer.concat([head, json, numbers]);
}

export function decodeIndex(bytes: Buffer): FileIndex {
  const jsonEnd = HEAD_BYTES + bytes.readUInt32LE(0);
  const dimensions = bytes.readUInt32LE(4);
  const texts = JSON.parse(bytes.toString("utf8", HEAD_BYTES, jsonEnd)) as string[];
  const vectors = new Float32Array((bytes.length - jsonEnd) / 4);
  for (let place = 0; place < vectors.length; place++) vectors[place] = bytes.readFloatLE(jsonEnd + place * 4);
  return { texts, vectors, dimensions };
}

/** The cosine of a query and each chunk; undefined where the model now makes vectors of another size. */
export function similarities({ texts, vectors, dimensions }: FileIndex, query: Float32Array): number[] | undefined {
  if (query.length !== dimensions) return undefined;
  return texts.map((_text, chunk) => product(query, vectors, chunk * dimensions));
}
