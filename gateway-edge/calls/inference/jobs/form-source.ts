import type { FormCall, FormField, FormFile } from "../../../upstream/providers/provider.ts";
import { GATEWAY_FIELDS } from "./gateway-fields.ts";

/** A caller's form, which may still be coming in while it is sent on. */
export interface FormSource {
  /** So far. */
  readonly fields: readonly FormField[];
  readonly files: readonly FormFile[];
  readonly isComplete: boolean;
  /** Rejects when the rest of it cannot be had, or is not valid. */
  readonly complete: Promise<void>;
}

/** OpenAI's names of lists in forms. Callers write them with brackets or without, the provider wants them with. */
const LISTS = new Set(["timestamp_granularities", "include", "known_speaker_names", "known_speaker_references", "languages", "keywords"]);

/** The form as a provider gets it: what is here now, then the files, then what comes after them. */
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
    .filter(([name]) => name !== "model" && !GATEWAY_FIELDS.has(name.replace(/\[.*$/, "")))
    .map(([name, value]) => [LISTS.has(name) ? `${name}[]` : name, value]);
}
