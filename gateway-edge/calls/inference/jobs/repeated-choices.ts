import { AppError } from "../../../../common/errors.ts";
import type { ReportedUsage } from "../../../upstream/providers/provider.ts";
import type { Job, JobAnswer, JobPieces } from "../job.ts";
import { joinedUsage } from "../joined-usage.ts";
import { mergedChoices } from "../merged-choices.ts";

interface WithChoices {
  readonly choices: readonly { readonly index: number }[];
  readonly usage: ReportedUsage | undefined;
}

/** Requests that one call may make at the same time: each holds a connection to the provider, and its answer is in memory. */
const REQUESTS_MAX = 8;

/** Several choices of a provider without `n`: one request for each, at the same time. Every request is billed, input included. */
export function repeatedChoices<Answer extends WithChoices>(count: number, jobOf: (choice: number) => Job<Answer>): JobPieces<Answer> {
  if (count > REQUESTS_MAX) throw tooMany("n", "n may");
  return choicesOf(
    Array.from({ length: count }, (_, choice) => jobOf(choice)),
    count,
  );
}

/** Several prompts of a provider that takes one, each with several choices: one request for each choice of each prompt, by prompt. */
export function choicesOfPrompts<Prompt, Answer extends WithChoices>(
  prompts: readonly Prompt[],
  count: number,
  jobOf: (prompt: Prompt, choice: number) => Job<Answer>,
): JobPieces<Answer> {
  if (prompts.length * count > REQUESTS_MAX) throw tooMany("prompt", "the prompts, times n, may");
  const jobs = prompts.flatMap((prompt) => Array.from({ length: count }, (_, choice) => jobOf(prompt, choice)));
  return choicesOf(jobs, count);
}

function choicesOf<Answer extends WithChoices>(jobs: readonly Job<Answer>[], inputReads: number): JobPieces<Answer> {
  return { jobs, inputReads, join: joinChoices, joinStreams: mergedChoices };
}

function tooMany(param: string, what: string): AppError {
  const message = `The model's provider gives one choice per request, so ${what} be at most ${REQUESTS_MAX}.`;
  return new AppError("UNSUPPORTED_PARAMETER", message, { param });
}

/** The request for one of the choices. A fixed seed is another one for each, because equal seeds give equal choices. */
export function requestOfChoice<Request extends { readonly n?: unknown; readonly seed?: unknown }>(
  request: Request,
  choice: number,
): Request {
  const { n: _n, ...single } = request;
  return (typeof request.seed === "number" ? { ...single, seed: request.seed + choice } : single) as Request;
}

function joinChoices<Answer extends WithChoices>(answers: readonly JobAnswer<Answer>[]): JobAnswer<Answer> {
  const usage = joinedUsage(answers.map((each) => each.usage));
  const choices = answers.map(({ answer }, index) => ({ ...answer.choices[0], index }));
  const [first] = answers;
  if (!first) throw new Error("no answers to join");
  return { answer: { ...first.answer, choices, usage }, usage, texts: answers.map(({ texts }) => texts[0] ?? "") };
}
