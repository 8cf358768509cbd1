import { canceled } from "./cli-error.ts";

/** Prompts on the terminal. They go to stderr, because stdout is for data. */
export interface Prompts {
  ask(question: string, fallback?: string): Promise<string>;
  askSecret(question: string): Promise<string>;
  confirm(question: string): Promise<boolean>;
  /** Lets the user choose one of a list, which typing narrows. */
  choose(question: string, choices: readonly Choice[]): Promise<string>;
}

export interface Choice {
  readonly value: string;
  readonly name: string;
}

const CHOICES_SHOWN = 12;

export function createPrompts(): Prompts {
  return {
    ask: (question, fallback) =>
      prompt(async ({ input }, to) => input({ message: question, required: true, ...(fallback ? { default: fallback } : {}) }, to)),
    askSecret: (question) => prompt(async ({ password }, to) => password({ message: question, mask: "*" }, to)),
    confirm: (question) => prompt(async ({ confirm }, to) => confirm({ message: question, default: false }, to)),
    choose: (question, choices) =>
      prompt(async ({ search }, to) =>
        search({ message: question, pageSize: CHOICES_SHOWN, source: (typed) => matching(choices, typed ?? "").map(shown) }, to),
      ),
  };
}

const matching = (choices: readonly Choice[], typed: string): readonly Choice[] =>
  choices.filter(({ value, name }) => `${name} ${value}`.toLowerCase().includes(typed.toLowerCase()));

/** The ID is beside the name, because names need not be unique. */
const shown = ({ value, name }: Choice): Choice => ({ value, name: name === "" || name === value ? value : `${name}  (${value})` });

type Library = typeof import("@inquirer/prompts");

/** Loads the prompt library on first use, because most commands do not prompt. */
async function prompt<Answer>(ask: (library: Library, to: { output: NodeJS.WritableStream }) => Promise<Answer>): Promise<Answer> {
  try {
    return await ask(await import("@inquirer/prompts"), { output: process.stderr });
  } catch (error) {
    if ((error as { name?: string }).name === "ExitPromptError") throw canceled();
    throw error;
  }
}
