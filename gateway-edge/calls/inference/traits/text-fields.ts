import type { Fields } from "../../../upstream/providers/provider.ts";
import type { Job, JobTraits } from "../job.ts";
import { mapTextOrTexts } from "./completions.ts";
import { readTexts, replaceTexts, type TextMapper } from "./text-mapper.ts";

/** A request whose texts are top-level fields, and whose answer is not text: guardrails read the request only. */
export function textFieldsTraits<Answer>(
  request: Fields,
  names: readonly string[],
  over: (request: Fields) => Job<Answer>,
): JobTraits<Answer> {
  const mapFields: TextMapper<Fields> = (fields, map) => {
    const there = names.filter((name) => fields[name] !== undefined);
    return { ...fields, ...Object.fromEntries(there.map((name) => [name, mapTextOrTexts(fields[name], map)])) };
  };
  return {
    request,
    prompt: {
      // A getter, because most calls have no guardrails.
      get texts() {
        return readTexts(mapFields, request);
      },
      withTexts: (texts) => over(replaceTexts(mapFields, request, texts)),
    },
  };
}
