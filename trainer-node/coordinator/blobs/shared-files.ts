import { type FileHandle, open } from "node:fs/promises";

/** Files that do not change, in pieces: what goes to many at the same time is read once, and lies in memory once. */
export interface SharedFiles {
  /** Pieces are everybody's, to be read only, and good until the one after the next is asked for. */
  read(path: string): AsyncGenerator<Uint8Array>;
}

interface Piece {
  readonly memory: Uint8Array;
  readonly bytes: Promise<Uint8Array>;
  /** Readers that may still need it. */
  users: number;
}

interface SharedFile {
  readers: number;
  /** By where they begin, the oldest first. */
  readonly pieces: Map<number, Piece>;
  /** Memory of pieces that nobody needs any more, for the next ones: left to the garbage collector it would soon be a model or more. */
  readonly spare: Uint8Array[];
}

/** About what a socket takes in one go. */
const PIECE_BYTES = 512 * 1024;
/** Of one file. Those who are sent it at the same time are hardly further apart; whoever is behind reads for himself. */
const PIECES_KEPT = 8;

export function createSharedFiles({ pieceBytes = PIECE_BYTES } = {}): SharedFiles {
  const files = new Map<string, SharedFile>();
  return {
    async *read(path) {
      const shared = files.get(path) ?? { readers: 0, pieces: new Map(), spare: [] };
      files.set(path, shared);
      shared.readers++;
      try {
        yield* piecesOf(shared, path, pieceBytes);
      } finally {
        shared.readers--;
        if (shared.readers === 0) files.delete(path);
      }
    },
  };
}

async function* piecesOf(shared: SharedFile, path: string, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  // What a reader still has when it leaves is not used again: a socket may be at it.
  const held: [at: number, piece: Piece][] = [];
  try {
    for (let at = 0; ; at += pieceBytes) {
      const piece = shared.pieces.get(at) ?? addPiece(shared, { file, at, pieceBytes });
      piece.users++;
      held.push([at, piece]);
      if (held.length > 2) release(shared, held.shift());
      const bytes = await piece.bytes;
      if (bytes.byteLength > 0) yield bytes;
      if (bytes.byteLength < pieceBytes) return;
    }
  } finally {
    await file.close();
  }
}

function addPiece({ pieces, spare }: SharedFile, { file, at, pieceBytes }: { file: FileHandle; at: number; pieceBytes: number }): Piece {
  const memory = spare.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
  const piece = { memory, bytes: readPiece(file, at, memory), users: 0 };
  pieces.set(at, piece);
  const [oldest] = pieces;
  if (oldest && pieces.size > PIECES_KEPT) {
    pieces.delete(oldest[0]);
    if (oldest[1].users === 0) spare.push(oldest[1].memory);
  }
  return piece;
}

function release({ pieces, spare }: SharedFile, held: [at: number, piece: Piece] | undefined): void {
  if (!held) return;
  const [at, piece] = held;
  piece.users--;
  if (piece.users === 0 && pieces.get(at) !== piece) spare.push(piece.memory);
}

/** Less than a piece only where the file ends. */
async function readPiece(file: FileHandle, at: number, memory: Uint8Array): Promise<Uint8Array> {
  for (let done = 0; done < memory.byteLength; ) {
    const { bytesRead } = await file.read(memory, done, memory.byteLength - done, at + done);
    if (bytesRead === 0) return memory.subarray(0, done);
    done += bytesRead;
  }
  return memory;
}
