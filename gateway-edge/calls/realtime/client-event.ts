import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asFields } from "../../upstream/providers/shared/json-fields.ts";

/** An event of the client, read as far as the gateway has to know it. */
export interface ClientEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly fields: Fields;
}

export function readClientEvent(text: string): ClientEvent {
  const fields = asFields(parsed(text));
  const { type, event_id: id } = fields;
  if (typeof type !== "string") throw new AppError("INVALID_REQUEST", "An event must be a JSON object with a type.", { param: "type" });
  return { type, id: typeof id === "string" ? id : undefined, fields };
}

export interface SessionRules {
  /** The model as the client requested it. */
  readonly model: string;
  /** The provider's name of a transcription model; throws where it may not be used. */
  transcription(model: string): Promise<string>;
}

/** A `session.update` as it may be sent on: the model of a session is fixed, and its transcription model is one of the gateway. */
export async function checkedUpdate({ fields }: ClientEvent, rules: SessionRules): Promise<string> {
  const { model, ...session } = asFields(fields["session"]);
  if (session["type"] === "transcription")
    throw new AppError("INVALID_REQUEST", "Transcription sessions are not offered.", { param: "session.type" });
  if (model !== undefined && model !== rules.model) {
    throw new AppError("INVALID_REQUEST", `The model of this session is ${rules.model}; open another session for another model.`, {
      param: "session.model",
    });
  }
  const renamed = async (settings: Fields, name: string): Promise<Fields> => {
    const { [name]: transcription } = settings;
    const wanted = asFields(transcription)["model"];
    if (typeof wanted !== "string") return refuseUnnamed(settings, transcription);
    return { ...settings, [name]: { ...asFields(transcription), model: await rules.transcription(wanted) } };
  };
  const checked = await renamed(session, "input_audio_transcription");
  const audio = asFields(checked["audio"]);
  const nested =
    audio["input"] === undefined ? {} : { audio: { ...audio, input: await renamed(asFields(audio["input"]), "transcription") } };
  return JSON.stringify({ ...fields, session: { ...checked, ...nested } });
}

/** Without a name the provider would choose a model whose price is not known. */
function refuseUnnamed(settings: Fields, transcription: unknown): Fields {
  if (transcription === undefined || transcription === null) return settings;
  throw new AppError("INVALID_REQUEST", "Name the model of the transcription.", { param: "session.audio.input.transcription.model" });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AppError("INVALID_JSON", "An event must be valid JSON.", { cause });
  }
}
