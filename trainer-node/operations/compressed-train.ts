import { compressionSettings } from "../../common/training/compression-settings.ts";
import { decodeParameters, encodePieces } from "../codec/parameters.ts";
import { joinPieces } from "../codec/pieces.ts";
import { type OperationAnswer, sha256 } from "./answer.ts";
import { compressUpdate } from "./compression.ts";
import type { OperationContext } from "./participant.ts";
import { parseWith } from "./schemas.ts";

type Train = (fields: object, context: OperationContext) => OperationAnswer | Promise<OperationAnswer>;

interface TrainFields {
  readonly config?: { readonly compress?: unknown } | null;
  readonly parameters?: Uint8Array | null;
  readonly parameters_ref?: string | null;
  readonly round_id?: unknown;
  readonly client_id?: unknown;
}

/** `/train` with `config.compress`: the update is compressed after the training, whichever function made it, and after its clipping and noise. */
export function withCompression(train: Train): Train {
  return async (fields, context) => {
    const given = fields as TrainFields;
    const asked = given.config?.compress;
    if (asked === undefined || asked === null) return train(fields, context);
    const compression = parseWith(compressionSettings, asked, "body.config.compress");
    // A function may write into its arguments.
    const base = baseOf(given, context)?.slice();
    const answer = await train(fields, context);
    // Without parameters to start from, the whole model is the update.
    if (!base || !answer.parameters) return answer;
    const { client, round } = placeOf(given);
    const before = client === undefined ? [] : context.residuals.read(client, round);
    const whole = joinPieces(answer.parameters);
    const after = decodeParameters(whole).tensors;
    const { tensors, residual } = compressUpdate({ base: decodeParameters(base).tensors, after, residual: before }, compression);
    if (client !== undefined) context.residuals.keep(client, round, { before, after: residual });
    const parameters = encodePieces(tensors, "safetensors");
    const bytes = parameters.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const about = {
      sha256: sha256(parameters),
      format: "safetensors",
      compression: { ...compression, bytes_before: whole.byteLength, bytes },
    };
    return { ...answer, parameters, fields: { ...answer.fields, ...about } };
  };
}

function baseOf({ parameters, parameters_ref: reference }: TrainFields, { readBlob }: OperationContext): Uint8Array | undefined {
  return parameters ?? (typeof reference === "string" ? readBlob(reference.slice(-64).toLowerCase()) : undefined);
}

/** A client of a federation: its residual goes from round to round, and the last part of a round's id is its number. */
function placeOf({ client_id: client, round_id: round }: TrainFields): { client: string | undefined; round: string } {
  if (typeof client !== "string" || typeof round !== "string") return { client: undefined, round: "" };
  return { client: `${round.slice(0, Math.max(0, round.lastIndexOf("/")))}\0${client}`, round };
}
