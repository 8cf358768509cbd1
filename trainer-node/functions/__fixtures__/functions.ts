import { setTimeout as delay } from "node:timers/promises";
import { ignore } from "../../../common/ignore.ts";
import { decodeParameters, encodeParameters, type Format } from "../../codec/parameters.ts";
import type { Tensor } from "../../compute/tensor.ts";
import { ParticipantError, registerAggregate, registerEvaluate, registerTrain, run } from "../../sdk.ts";

/** Does what `config.do` says, so that a test can have a function at its best and worst. */
registerTrain(async (parameters, dataset, context) => {
  switch (context.config["do"]) {
    case "echo":
      return parameters ?? new TextEncoder().encode("afresh");
    case "tell": {
      const { config, seed, roundId, format, signal } = context;
      const seen = { dataset, config, seed, roundId, format, aborted: signal.aborted };
      return { parameters: Uint8Array.of(1), numSamples: 3, metrics: { seen, environment: Object.keys(process.env) } };
    }
    case "rows":
      return { parameters: Uint8Array.of(1), numSamples: context.rows().rows };
    case "push":
      return { parameters: pushed(parameters, context.config["format"]), numSamples: 3, metrics: { loss: 0.25, note: context.config["note"] } };
    case "count":
      return encodeParameters([{ name: "seen", dtype: "i64", shape: [1], data: BigInt64Array.of(42n) }], "safetensors");
    case "diverge":
      return encodeParameters([{ name: "w", dtype: "f32", shape: [2], data: Float32Array.of(Number.NaN, 1e9) }], "safetensors");
    case "throw":
      throw new RangeError("the learning went wrong");
    case "throw-text":
      throw "only a text";
    case "refuse":
      throw new ParticipantError("SHAPE_MISMATCH", "these do not fit", { tensor: "w" });
    case "nothing":
      return undefined as never;
    case "circle": {
      const metrics: Record<string, unknown> = {};
      metrics["self"] = metrics;
      return { parameters: Uint8Array.of(1), metrics };
    }
    case "exit":
      return process.exit(3);
    case "reject-later":
      void Promise.reject(new Error("an unhandled rejection"));
      await delay(1000);
      return Uint8Array.of(1);
    case "spin":
      for (;;);
    case "listen":
      // The signal ends the wait long before its timer; the file shows that the signal was aborted.
      await ignore(delay(60_000, undefined, { signal: context.signal }), "the signal ends the wait with an error");
      (await import("node:fs")).writeFileSync(String(context.config["file"]), String(context.signal.aborted));
      return Uint8Array.of(1);
    default:
      context.progress({ epoch: 1, epochs: 1 });
      return Uint8Array.of(7);
  }
});

/** Each number of the model 3 larger, its tensors in another order, and the bytes that were sent overwritten, as a function may do. */
function pushed(parameters: Uint8Array | undefined, format: unknown): Uint8Array {
  const fresh: Tensor[] = ["a", "b"].map((name) => ({ name, dtype: "f64", shape: [2], data: new Float64Array(2) }));
  const tensors = parameters ? decodeParameters(parameters).tensors : fresh;
  const moved = tensors.map((tensor) => ({ ...tensor, data: Float64Array.from(tensor.data as Float64Array, (value) => value + 3) }));
  parameters?.fill(0);
  return encodeParameters(moved.reverse() as Tensor[], (format ?? "safetensors") as Format);
}

registerEvaluate((parameters, _dataset, { config }) => (config["do"] === "nan" ? Number.NaN : (parameters?.byteLength ?? 0) / 10));

registerAggregate((list, { weights, clientIds, strategy, onInvalid, base, state }) => ({
  parameters: Buffer.concat([...list]),
  state: Uint8Array.of(...(state ?? []), 9),
  metrics: { weights, clientIds, strategy, onInvalid, base: base && [...base] },
  clients: list.map((bytes) => ({ bytes: bytes.byteLength })),
}));

await run();
