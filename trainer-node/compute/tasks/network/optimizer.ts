import type { Kernels } from "../../kernels/kernels.ts";
import type { TrainSettings } from "../task.ts";

const ADAM = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const;

/** One optimizer step by the rule in the settings. The terms of FedProx and SCAFFOLD are added to the gradient first. */
export function createOptimizer(
  kernels: Kernels,
  { weights, gradients, correction }: { weights: Float32Array; gradients: Float32Array; correction: Float32Array | undefined },
  settings: TrainSettings,
): { step(): void } {
  const { learningRate: rate, momentum, mu, optimizer } = settings;
  const anchor = mu > 0 ? kernels.floats(weights.length) : undefined;
  anchor?.set(weights);
  const update = { sgd, momentum: heavyBall, adam }[optimizer]();
  return {
    step: () => {
      if (anchor) kernels.proximal(gradients, weights, anchor, mu);
      if (correction) kernels.axpy(gradients, correction, 1);
      update();
    },
  };

  function sgd(): () => void {
    return () => kernels.axpy(weights, gradients, -rate);
  }
  function heavyBall(): () => void {
    const velocity = kernels.floats(weights.length);
    return () => kernels.momentumStep(weights, gradients, velocity, { rate, momentum });
  }
  function adam(): () => void {
    const moments = { first: kernels.floats(weights.length), second: kernels.floats(weights.length) };
    let steps = 0;
    return () => {
      steps++;
      const corrected = (rate * Math.sqrt(1 - ADAM.beta2 ** steps)) / (1 - ADAM.beta1 ** steps);
      kernels.adamStep(weights, gradients, moments, { ...ADAM, rate: corrected });
    };
  }
}
