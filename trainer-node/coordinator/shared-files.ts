import { type FileHandle, open } from "node:fs/promises";

/** Files that do not change, in pieces: what goes to many at the same time is read once, and lies in memory once. */
export interface SharedFiles {
  /** Pieces are everybody's, to be read only. */
  read(path: string): AsyncGenerator<Uint8Array>;
}

interface SharedFile {
  readers: number;
  /** By where they begin, the oldest first. */
  readonly pieces: Map<number, Promise<Uint8Array>>;
}

/** About what a socket takes in one go. */
const PIECE_BYTES = 512 * 1024;
/** Of one file. Those who are sent it at the same time are hardly further apart; whoever is behind reads for himself. */
const PIECES_KEPT = 8;

export function createSharedFiles({ pieceBytes = PIECE_BYTES } = {}): SharedFiles {
  const files = new Map<string, SharedFile>();
  return {
    async *read(path) {
      const shared = files.get(path) ?? { readers: 0, pieces: new Map() };
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

async function* piecesOf({ pieces }: SharedFile, path: string, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    for (let at = 0; ; at += pieceBytes) {
      const known = pieces.get(at);
      const reading = known ?? readPiece(file, at, pieceBytes);
      if (!known) keepLatest(pieces, at, reading);
      const piece = await reading;
      if (piece.byteLength > 0) yield piece;
      if (piece.byteLength < pieceBytes) return;
    }
  } finally {
    await file.close();
  }
}

function keepLatest(pieces: SharedFile["pieces"], at: number, reading: Promise<Uint8Array>): void {
  pieces.set(at, reading);
  const [oldest] = pieces.keys();
  if (oldest !== undefined && pieces.size > PIECES_KEPT) pieces.delete(oldest);
}

/** Less than a piece only where the file ends. */
async function readPiece(file: FileHandle, at: number, pieceBytes: number): Promise<Uint8Array> {
  const piece = Buffer.allocUnsafeSlow(pieceBytes);
  for (let done = 0; done < pieceBytes; ) {
    const { bytesRead } = await file.read(piece, done, pieceBytes - done, at + done);
    if (bytesRead === 0) return piece.subarray(0, done);
    done += bytesRead;
  }
  return piece;
}
