/** One file of an archive. Exactly `bytes` bytes are read from `content`. */
export interface TarEntry {
  readonly path: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

const BLOCK = 512;
const NAME_MAX = 100;
const PREFIX_MAX = 155;
/** Largest size in the octal field of a header; larger ones are binary, as GNU tar writes them. */
const OCTAL_MAX = 8 ** 11 - 1;
const CHECKSUM = { start: 148, length: 8 };

/** Writes an archive in the format of POSIX (ustar), so that `tar` lists and unpacks it. */
export async function* writeTar(entries: AsyncIterable<TarEntry>): AsyncGenerator<Uint8Array> {
  for await (const { path, bytes, content } of entries) {
    yield header(path, bytes);
    let written = 0;
    for await (const chunk of content) {
      written += chunk.length;
      yield chunk;
    }
    if (written !== bytes) throw new Error(`${path} changed while it was read: ${written} bytes in place of ${bytes}`);
    yield Buffer.alloc(padding(bytes));
  }
  yield Buffer.alloc(2 * BLOCK);
}

/** Reads an archive of `writeTar`. The content of an entry must be read before the next entry. Throws if the archive ends early. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const source = new ByteSource(chunks);
  try {
    for (;;) {
      const block = await source.exactly(BLOCK);
      if (block.every((byte) => byte === 0)) return await source.rest();
      const { path, bytes } = parseHeader(block);
      yield { path, bytes, content: source.pieces(bytes) };
      await source.exactly(padding(bytes));
    }
  } finally {
    await source.close();
  }
}

function header(path: string, bytes: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const { prefix, name } = splitPath(path);
  block.write(name, 0);
  block.write("0000600\0" + "0000000\0" + "0000000\0", NAME_MAX);
  if (bytes <= OCTAL_MAX) block.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124);
  else {
    block.writeBigUInt64BE(BigInt(bytes), 128);
    block[124] = 0x80;
  }
  block.write("00000000000\0", 136);
  // A plain file.
  block.write("0", 156);
  block.write("ustar\u000000", 257);
  block.write(prefix, 345);
  block.write(`${checksum(block).toString(8).padStart(6, "0")}\0 `, CHECKSUM.start);
  return block;
}

function splitPath(path: string): { prefix: string; name: string } {
  if (path.length <= NAME_MAX) return { prefix: "", name: path };
  const cut = path.indexOf("/", path.length - NAME_MAX - 1);
  if (cut < 1 || cut > PREFIX_MAX) throw new Error(`the path is too long for an archive: ${path}`);
  return { prefix: path.slice(0, cut), name: path.slice(cut + 1) };
}

function parseHeader(block: Buffer): { path: string; bytes: number } {
  const text = (start: number, length: number) => block.toString("utf8", start, start + length).replace(/\0.*$/s, "");
  if (text(257, 5) !== "ustar" || Number.parseInt(text(CHECKSUM.start, 6), 8) !== checksum(block)) {
    throw new Error("a header of the archive is damaged");
  }
  const prefix = text(345, PREFIX_MAX);
  const bytes = block[124] === 0x80 ? Number(block.readBigUInt64BE(128)) : Number.parseInt(text(124, 12), 8);
  return { path: prefix === "" ? text(0, NAME_MAX) : `${prefix}/${text(0, NAME_MAX)}`, bytes };
}

/** The sum of a header's bytes, those of the sum itself counted as spaces. */
function checksum(block: Buffer): number {
  let sum = 0;
  for (const [place, byte] of block.entries()) {
    sum += place >= CHECKSUM.start && place < CHECKSUM.start + CHECKSUM.length ? 32 : byte;
  }
  return sum;
}

const padding = (bytes: number): number => (BLOCK - (bytes % BLOCK)) % BLOCK;

/** Takes a stream of chunks apart by numbers of bytes. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #left: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async exactly(bytes: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.pieces(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }

  async *pieces(bytes: number): AsyncGenerator<Uint8Array> {
    for (let wanted = bytes; wanted > 0; ) {
      if (this.#left.length === 0) await this.#next();
      const piece = this.#left.subarray(0, wanted);
      this.#left = this.#left.subarray(piece.length);
      wanted -= piece.length;
      yield piece;
    }
  }

  /** Reads on to the end, because a compressed stream checks its sum there. */
  async rest(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #next(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw new Error("the archive ends early");
    this.#left = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
}
