/** One complaint; printed as `file:line: message`. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}
