import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { addNoise } from "../compute/add-noise.ts";
import { clipUpdate } from "../compute/clip-update.ts";
import { InputProblem } from "../compute/problem.ts";
import { type FloatTensor, firstNonFinite, isFloat, type Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { keyedRandom } from "../operations/keyed-random.ts";

/** The bound that the caller sets on an update before it leaves the node. */
export interface UpdateBound {
  readonly clipNorm: number;
  /** Standard deviation of the noise on each number; 0 for none. */
  readonly deviation: number;
}

/** Undefined if the config sets no bound. */
export function boundOf(config: {
  readonly clip_norm?: number | null | undefined;
  readonly noise_multiplier?: number | null | undefined;
}): UpdateBound | undefined {
  const clipNorm = config.clip_norm ?? 0;
  return clipNorm > 0 ? { clipNorm, deviation: clipNorm * (config.noise_multiplier ?? 0) } : undefined;
}

/**
 * Clips the update of a registered function to the bound and adds the noise, in the format of its parameters. Without a base, the
 * parameters themselves are the update. Throws if the update cannot be bounded as a whole: opaque bytes, integers, other tensors than the
 * base has.
 */
export function boundUpdate(
  trained: Uint8Array,
  { base, clipNorm, deviation, noiseKey }: UpdateBound & { readonly base: Uint8Array | undefined; readonly noiseKey: Uint8Array },
): Uint8Array {
  const { format, tensors } = decodeReadable(trained);
  const after = tensors.map(requireFinite);
  const clipped = clipUpdate(startOf(after, base), after, clipNorm);
  return encodeParameters(deviation > 0 ? addNoise(clipped, deviation, keyedRandom(noiseKey)) : clipped, format);
}

function decodeReadable(bytes: Uint8Array): ReturnType<typeof decodeParameters> {
  try {
    return decodeParameters(bytes);
  } catch (cause) {
    if (!(cause instanceof TrainerError) || cause.kind !== "UNSUPPORTED_PARAMETERS") throw cause;
    const message = `config.clip_norm requires parameters in a format that the node reads. ${cause.message}`;
    throw new TrainerError("UNSUPPORTED_PARAMETERS", message, { details: cause.details, cause });
  }
}

function requireFinite(tensor: Tensor): FloatTensor {
  const { name, dtype } = tensor;
  if (!isFloat(tensor)) {
    throw new InputProblem("DTYPE_MISMATCH", `tensor "${name}" has dtype ${dtype}: config.clip_norm applies to float tensors only`, {
      tensor: name,
    });
  }
  if (firstNonFinite(tensor.data) < 0) return tensor;
  throw new InputProblem("NON_FINITE", `tensor "${name}" has a NaN or infinity, so its update cannot be clipped`, { tensor: name });
}

/** The base's tensors in the order of the trained ones; zeros if there is no base. */
function startOf(after: readonly FloatTensor[], base: Uint8Array | undefined): Tensor[] {
  if (!base) return after.map((tensor) => ({ ...tensor, data: new Float64Array(tensor.data.length) }));
  const before = new Map(decodeReadable(base).tensors.map((tensor) => [tensor.name, tensor]));
  return after.map(({ name, shape }) => {
    const start = before.get(name);
    if (start && isFloat(start) && before.size === after.length && String(start.shape) === String(shape)) return start;
    const message = `tensor "${name}" of the trained parameters is not in the parameters of the request, so its update cannot be clipped`;
    throw new InputProblem("SHAPE_MISMATCH", message, { tensor: name });
  });
}
