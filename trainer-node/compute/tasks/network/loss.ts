/** The loss that training minimizes. `gradient` replaces the outputs with the gradient in place and returns the sum of the rows' losses. */
export interface Loss {
  readonly outputs: "classes" | "one";
  gradient(outputs: Float32Array, wanted: Wanted): number;
  /** Whether a row's outputs give the wanted class or value. */
  isRight(outputs: Float32Array, row: number, wanted: Wanted): boolean;
  scores(outputs: Float32Array): number[];
}

/** The labels or targets of a batch. */
export interface Wanted {
  readonly rows: number;
  readonly width: number;
  readonly labels: Int32Array;
  readonly targets: Float32Array;
}

/**
 * Cross-entropy of the softmax, in nats. WASM has no exponential; the engine's gives the same result on every machine with the same
 * version.
 */
export const softmaxLoss: Loss = {
  outputs: "classes",
  gradient: (outputs, { rows, width, labels }) => {
    let loss = 0;
    for (let row = 0; row < rows; row++) {
      const start = row * width;
      const label = start + (labels[row] as number);
      let top = Number.NEGATIVE_INFINITY;
      for (let at = start; at < start + width; at++) top = Math.max(top, outputs[at] as number);
      const logit = (outputs[label] as number) - top;
      let sum = 0;
      for (let at = start; at < start + width; at++) {
        const value = Math.exp((outputs[at] as number) - top);
        outputs[at] = value;
        sum += value;
      }
      loss += Math.log(sum) - logit;
      const scale = 1 / (sum * rows);
      for (let at = start; at < start + width; at++) outputs[at] = (outputs[at] as number) * scale;
      outputs[label] = (outputs[label] as number) - 1 / rows;
    }
    return loss;
  },
  isRight: (outputs, row, { width, labels }) => argmax(outputs.subarray(row * width, (row + 1) * width)) === labels[row],
  scores: (outputs) => {
    const top = outputs.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
    const values = Array.from(outputs, (value) => Math.exp(value - top));
    const sum = values.reduce((total, value) => total + value, 0);
    return values.map((value) => value / sum);
  },
};

/** Half the squared error. */
export const squaredLoss: Loss = {
  outputs: "one",
  gradient: (outputs, { rows, targets }) => {
    let loss = 0;
    for (let row = 0; row < rows; row++) {
      const error = (outputs[row] as number) - (targets[row] as number);
      loss += (error * error) / 2;
      outputs[row] = error / rows;
    }
    return loss;
  },
  isRight: (outputs, row, { targets }) => Math.abs((outputs[row] as number) - (targets[row] as number)) < 0.5,
  scores: (outputs) => [outputs[0] as number],
};

/** Cross-entropy of one logistic output; labels are 0 and 1. */
export const logisticLoss: Loss = {
  outputs: "one",
  gradient: (outputs, { rows, labels }) => {
    let loss = 0;
    for (let row = 0; row < rows; row++) {
      const logit = outputs[row] as number;
      const label = labels[row] as number;
      // log(1 + e^-|z|) cannot overflow.
      loss += Math.log1p(Math.exp(-Math.abs(logit))) + Math.max(logit, 0) - label * logit;
      outputs[row] = (1 / (1 + Math.exp(-logit)) - label) / rows;
    }
    return loss;
  },
  isRight: (outputs, row, { labels }) => ((outputs[row] as number) > 0 ? 1 : 0) === labels[row],
  scores: (outputs) => {
    const one = 1 / (1 + Math.exp(-(outputs[0] as number)));
    return [1 - one, one];
  },
};

/** The index of the largest value. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let index = 1; index < values.length; index++) if ((values[index] as number) > (values[best] as number)) best = index;
  return best;
}
