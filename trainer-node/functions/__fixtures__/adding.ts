import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { registerEvaluate, registerInitial, registerTrain } from "../../sdk.ts";

// The functions of test/helpers/python-participant.py: the client p2 moves (1, 2, 3, 4) twice as far as p1, with twice as many samples.

const numberOf = (client: string | undefined): number => Number(/\d+$/.exec(client ?? "")?.[0] ?? 1);

registerTrain((parameters, _dataset, { clientId }) => {
  const step = numberOf(clientId);
  const before = parameters ? (decodeParameters(parameters).tensors[0]?.data as Float32Array) : new Float32Array(4);
  const data = before.map((value, index) => value + (index + 1) * step);
  return { parameters: encodeParameters([{ name: "weight", dtype: "f32", shape: [4], data }], "safetensors"), numSamples: 10 * step };
});

registerInitial(() => encodeParameters([{ name: "weight", dtype: "f32", shape: [4], data: new Float32Array(4) }], "safetensors"));

registerEvaluate(() => ({ accuracy: 0.5, numSamples: 10 }));
