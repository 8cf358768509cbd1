import { setTimeout as delay } from "node:timers/promises";
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
      void Promise.reject(new Error("nobody waits for this"));
      await delay(1000);
      return Uint8Array.of(1);
    case "spin":
      for (;;);
    case "listen":
      // Ends because it hears, long before it would by itself; the file shows that it heard.
      await delay(60_000, undefined, { signal: context.signal }).catch(() => {});
      (await import("node:fs")).writeFileSync(String(context.config["file"]), String(context.signal.aborted));
      return Uint8Array.of(1);
    default:
      context.progress({ epoch: 1, epochs: 1 });
      return Uint8Array.of(7);
  }
});

registerEvaluate((parameters, _dataset, { config }) => (config["do"] === "nan" ? Number.NaN : (parameters?.byteLength ?? 0) / 10));

registerAggregate((list, { weights, clientIds, strategy, onInvalid, base, state }) => ({
  parameters: Buffer.concat([...list]),
  state: Uint8Array.of(...(state ?? []), 9),
  metrics: { weights, clientIds, strategy, onInvalid, base: base && [...base] },
  clients: list.map((bytes) => ({ bytes: bytes.byteLength })),
}));

await run();
