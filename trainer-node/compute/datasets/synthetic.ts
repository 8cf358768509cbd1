import { createRandom, PURPOSE } from "../random.ts";
import type { Dataset } from "./dataset.ts";

/** The size of the synthetic dataset. */
export const SYNTHETIC = { columns: 60, classes: 10, devices: 30, rowsMin: 50, rowsMax: 200_000 } as const;

/** Settings of one synthetic device. */
export interface SyntheticSettings {
  readonly alpha: number;
  readonly beta: number;
  readonly device: number;
  readonly seed: number;
  /** All devices share one model, and features have mean 0. */
  readonly iid: boolean;
}

/**
 * synthetic(α, β) of FedProx (Li 2020): on device k, W and b ~ N(u_k, 1) with u_k ~ N(0, α); x ~ N(v_k, Σ) with v_k ~ N(B_k, 1),
 * B_k ~ N(0, β) and Σ diagonal, j^-1.2; y = argmax(x·W + b). α and β are used as deviations, as the original code does.
 */
export function syntheticDevice({ alpha, beta, device, seed, iid }: SyntheticSettings): Dataset {
  const { columns, classes } = SYNTHETIC;
  const random = createRandom(seed, PURPOSE.synthetic + 1 + device);
  // In the iid variant, the model that all devices share comes from a random stream of its own.
  const shared = iid ? createRandom(seed, PURPOSE.synthetic) : random;
  const rows = Math.min(SYNTHETIC.rowsMax, Math.floor(Math.exp(4 + 2 * random.normal())) + SYNTHETIC.rowsMin);
  const center = iid ? 0 : alpha * random.normal();
  const featureCenter = iid ? 0 : beta * random.normal();
  const means = Float64Array.from({ length: columns }, () => (iid ? 0 : featureCenter + random.normal()));
  const weights = Float64Array.from({ length: columns * classes }, () => center + shared.normal());
  const biases = Float64Array.from({ length: classes }, () => center + shared.normal());
  const features = new Float32Array(rows * columns);
  const labels = new Int32Array(rows);
  for (let row = 0; row < rows; row++) {
    const logits = biases.slice();
    for (let column = 0; column < columns; column++) {
      const value = Math.fround((means[column] as number) + Math.sqrt((column + 1) ** -1.2) * random.normal());
      features[row * columns + column] = value;
      for (let label = 0; label < classes; label++)
        logits[label] = (logits[label] as number) + value * (weights[column * classes + label] as number);
    }
    labels[row] = logits.indexOf(Math.max(...logits));
  }
  return { rows, columns, classes, features, labels };
}
