import { type FileHandle, open } from "node:fs/promises";

/** Reads immutable files in pieces. Concurrent readers of a file share one read and one copy in memory. */
export interface SharedFiles {
  /** Pieces are shared and read-only. A piece is valid until the reader asks for the second piece after it. */
  read(path: string): AsyncGenerator<Uint8Array>;
}

interface Piece {
  readonly memory: Uint8Array;
  readonly bytes: Promise<Uint8Array>;
  /** Number of readers that may still need the piece. */
  users: number;
}

interface SharedFile {
  readers: number;
  /** Pieces by their offset, the oldest first. */
  readonly pieces: Map<number, Piece>;
  /** Memory of unused pieces, for the next ones. Left to the garbage collector, it would grow to the size of a model or more. */
  readonly spare: Uint8Array[];
}

/** About as much as a socket takes at once. */
const PIECE_BYTES = 512 * 1024;
/**
 * Pieces of one file in memory. Readers that start together stay close to each other; a reader that falls behind reads from disk itself.
 */
const PIECES_MAX = 8;

/** Creates a reader of shared files. */
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
  // Pieces that a reader holds when it stops are not reused, because a socket may still read them.
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
  if (oldest && pieces.size > PIECES_MAX) {
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

/** Reads one piece, which is shorter only at the end of the file. */
async function readPiece(file: FileHandle, at: number, memory: Uint8Array): Promise<Uint8Array> {
  for (let done = 0; done < memory.byteLength; ) {
    const { bytesRead } = await file.read(memory, done, memory.byteLength - done, at + done);
    if (bytesRead === 0) return memory.subarray(0, done);
    done += bytesRead;
  }
  return memory;
}
