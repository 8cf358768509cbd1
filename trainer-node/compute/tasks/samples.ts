/** The input of training or prediction. Rows have features or tokens, and labels, targets or neither (for prediction). */
export interface Samples {
  readonly rows: number;
  readonly columns: number;
  /** Labels are 0 .. classes-1; 1 for tasks that predict a number. */
  readonly classes: number;
  /** Row-major, rows × columns. */
  readonly features?: Float32Array;
  /** The tokens of row r are ids[starts[r]] .. ids[starts[r + 1] - 1]. */
  readonly tokens?: { readonly ids: Int32Array; readonly starts: Int32Array };
  readonly labels?: Int32Array;
  readonly targets?: Float32Array;
}
