import type { FormCall, FormField, FormFile } from "../../../upstream/providers/provider.ts";
import { GATEWAY_FIELDS } from "./gateway-fields.ts";

/** A caller's form, which may still be arriving while it is sent upstream. */
export interface FormSource {
  /** Fields that have arrived so far. */
  readonly fields: readonly FormField[];
  readonly files: readonly FormFile[];
  readonly isComplete: boolean;
  /** Rejects when the rest of the form cannot be read or is not valid. */
  readonly complete: Promise<void>;
}

/** OpenAI's list fields in forms. Callers write them with or without brackets, the provider expects brackets. */
const LISTS = new Set(["timestamp_granularities", "include", "known_speaker_names", "known_speaker_references", "languages", "keywords"]);

/** The form as the provider gets it: the fields that have arrived, then the files, then later fields. */
export function formCallOf(form: FormSource): FormCall {
  const now = form.fields.length;
  const call = { fields: sentFields(form.fields), files: form.files };
  if (form.isComplete) return call;
  return {
    ...call,
    laterFields: async () => {
      await form.complete;
      return sentFields(form.fields.slice(now));
    },
  };
}

function sentFields(fields: readonly FormField[]): FormField[] {
  return fields
    .filter(([name]) => name !== "model" && !GATEWAY_FIELDS.has(name.split("[", 1)[0] ?? ""))
    .map(([name, value]) => [LISTS.has(name) ? `${name}[]` : name, value]);
}
