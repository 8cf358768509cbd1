/** Finds the length of one file while it arrives. */
export interface AudioReader {
  add(bytes: Buffer): void;
  /** Of a file of so many bytes; undefined if it does not tell. */
  milliseconds(size: number): number | undefined;
}

/** A kind of file, known by its first twelve bytes. */
export interface AudioKind {
  readonly kind: string;
  isOf(begin: Buffer): boolean;
  /** Absent: such a file is judged by its size. */
  readonly open?: () => AudioReader;
}
