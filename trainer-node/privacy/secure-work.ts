import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { addWords, type FixedPoint, fromWords, toWords } from "../compute/privacy/fixed-point.ts";
import { InputProblem } from "../compute/problem.ts";
import { type FloatTensor, type FloatType, isFloat } from "../compute/tensor.ts";
import { type Introduction, maskedWords, type RoundSecrets, removeMasks, type Unmasking } from "./secure-sum.ts";

/** The tensors of a model sorted by name, which is the order in which their numbers are masked. */
export type ModelLayout = readonly { readonly name: string; readonly dtype: FloatType; readonly shape: readonly number[] }[];

const RAISE_LIMIT =
  "raise secureAggregation.range, or for the task statistics set rows_max of its config to the most rows of a participant";

/** Work on whole models, for a worker thread. */
export type SecureWork =
  | {
      readonly step: "mask";
      readonly update: Uint8Array;
      /** The update's factor in the sum, 0 to 1. */
      readonly factor: number;
      readonly fixed: FixedPoint;
      readonly secrets: RoundSecrets;
      readonly partners: readonly Introduction[];
    }
  | {
      readonly step: "unmask";
      readonly unmasking: Unmasking;
      /** Hashes of the masked updates, by participant. */
      readonly masked: Readonly<Record<string, string>>;
      readonly fixed: FixedPoint;
      readonly layout: ModelLayout;
      /** The divisor of the sum. */
      readonly divisor: number;
    };

/** Masks an update, or unmasks a sum, in a worker thread. */
export function doSecureWork(work: SecureWork, readBlob: (digest: string) => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (work.step === "mask") return maskUpdate(work);
  const { masked, fixed, layout, divisor, unmasking } = work;
  const total = new Uint32Array(layout.reduce((sum, { shape }) => sum + sizeOf(shape), 0));
  // Updates are added one at a time, so that memory is that of two models for any number of participants.
  for (const digest of Object.values(masked)) addWords(total, wordsOf(readBlob(digest)));
  removeMasks(total, { ...unmasking, inSum: new Set(Object.keys(masked)) });
  return encodeParameters(meanOf(total, { fixed, layout, divisor }), "safetensors");
}

/** The layout of an update. Throws if it cannot be masked: an unsupported format, or tensors of integers. */
export function layoutOf(update: Uint8Array): ModelLayout {
  return floatsOf(update).map(({ name, dtype, shape }) => ({ name, dtype, shape: [...shape] }));
}

function maskUpdate({ update, factor, fixed, secrets, partners }: Extract<SecureWork, { step: "mask" }>): Uint8Array<ArrayBuffer> {
  const tensors = floatsOf(update);
  const values = new Float64Array(tensors.reduce((sum, { data }) => sum + data.length, 0));
  let at = 0;
  for (const { data, name } of tensors) {
    for (let index = 0; index < data.length; index++) {
      const value = data[index] as number;
      // The refusal goes to the coordinator, from which the numbers are hidden.
      if (!(Math.abs(value) <= fixed.limit))
        throw new InputProblem(
          "NON_FINITE",
          `tensor "${name}" has a number beyond ${fixed.limit}, the limit of secure aggregation; ${RAISE_LIMIT}`,
        );
      values[at++] = value * factor;
    }
  }
  return new Uint8Array(maskedWords(toWords(values, fixed), secrets, partners).buffer);
}

function floatsOf(update: Uint8Array): FloatTensor[] {
  const { tensors } = decodeParameters(update);
  const floats = tensors.filter(isFloat);
  const other = tensors.find((tensor) => !isFloat(tensor));
  if (other)
    throw new InputProblem("DTYPE_MISMATCH", `tensor "${other.name}" has dtype ${other.dtype}: secure aggregation supports floats only`);
  return floats.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function meanOf(
  total: Uint32Array,
  { fixed, layout, divisor }: { fixed: FixedPoint; layout: ModelLayout; divisor: number },
): FloatTensor[] {
  let at = 0;
  return layout.map(({ name, dtype, shape }) => {
    const words = total.subarray(at, at + sizeOf(shape));
    at += words.length;
    const values = fromWords(words, fixed).map((value) => value / divisor);
    return { name, dtype, shape, data: dtype === "f64" ? values : Float32Array.from(values) };
  });
}

function wordsOf(bytes: Uint8Array<ArrayBuffer>): Uint32Array {
  if (bytes.byteLength % 4 !== 0) throw new RangeError("masked words of a wrong length");
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, dimension) => product * dimension, 1);
