import { ParticipantError, registerServe } from "../../sdk.ts";

const seen = new WeakSet<Uint8Array>();

registerServe((parameters, input, { config }) => {
  if (input === "refuse") throw new ParticipantError("VALIDATION_ERROR", "The input is refused.");
  if (input === "fail") throw new Error("a private row");
  if (input === "nothing") return undefined;
  const isKept = seen.has(parameters);
  seen.add(parameters);
  return input === "text" ? `${Buffer.from(parameters).toString()} ${config["max_tokens"]}` : { input, isKept };
});
