/** Kinds of problems with a caller's numbers. errors.ts maps them to HTTP statuses. */
export type InputProblemKind =
  | "VALIDATION_ERROR"
  | "SHAPE_MISMATCH"
  | "DTYPE_MISMATCH"
  | "NON_FINITE"
  | "EMPTY_LIST"
  | "EMPTY_DATASET"
  | "TOO_FEW_CLIENTS";

/** Structured details of an error. */
export type ProblemDetails = Readonly<Record<string, unknown>>;

/** The caller's input is invalid. `details` names the first bad element by index and tensor. */
export class InputProblem extends Error {
  readonly kind: InputProblemKind;
  readonly details: ProblemDetails | undefined;

  constructor(kind: InputProblemKind, message: string, details?: ProblemDetails) {
    super(message);
    this.name = "InputProblem";
    this.kind = kind;
    this.details = details;
  }
}
