import { AppError } from "../../../common/errors.ts";
import type { PromptTemplate } from "../../schemas/stored/prompts.ts";

/** Values of a request by name. */
export type Variables = Readonly<Record<string, string>>;

const PLACEHOLDER = /\{\{ ?([A-Za-z_]\w{0,63}) ?\}\}/g;
/** The most characters of a template's texts with its variables: a name may occur many times. */
const FILLED_LENGTH_MAX = 4 * 1024 * 1024;

/** The names in a template, in the order of their first use. */
export function variablesOf({ instructions, messages }: PromptTemplate): string[] {
  const texts = [instructions ?? "", ...(messages ?? []).map(({ content }) => content)];
  return [...new Set(texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name)))];
}

/** The template with its variables. Values are not searched for further names. Throws a 400 that names a missing or unknown variable. */
export function filledTemplate(template: PromptTemplate, variables: Variables): PromptTemplate {
  const names = new Set(variablesOf(template));
  const unknown = Object.keys(variables).find((name) => !names.has(name));
  if (unknown !== undefined) throw refused(unknown, "is not in the template");
  const missing = [...names].find((name) => !Object.hasOwn(variables, name));
  if (missing !== undefined) throw refused(missing, "is missing: the template needs a value for it");
  let length = 0;
  const filled = (text: string) => {
    length += filledLength(text, variables);
    if (length > FILLED_LENGTH_MAX) throw tooLong();
    return text.replace(PLACEHOLDER, (_all, name: string) => variables[name] ?? "");
  };
  const { instructions, messages } = template;
  return {
    ...template,
    instructions: instructions == null ? instructions : filled(instructions),
    messages: messages?.map((message) => ({ ...message, content: filled(message.content) })),
  };
}

/** Counted before the text is made. */
function filledLength(text: string, variables: Variables): number {
  let length = text.length;
  for (const [, name = ""] of text.matchAll(PLACEHOLDER)) length += variables[name]?.length ?? 0;
  return length;
}

function refused(name: string, problem: string): AppError {
  const shown = name.slice(0, 64);
  return new AppError("INVALID_REQUEST", `prompt.variables: ${shown} ${problem}.`, { param: `prompt.variables.${shown}` });
}

function tooLong(): AppError {
  const message = `prompt.variables: the template with its variables has more than ${FILLED_LENGTH_MAX} characters.`;
  return new AppError("INVALID_REQUEST", message, { param: "prompt.variables" });
}
