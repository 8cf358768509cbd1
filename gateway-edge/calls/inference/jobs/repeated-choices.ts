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
  if (count > REQUESTS_MAX) {
    const message = `The model's provider gives one choice per request, so n may be at most ${REQUESTS_MAX}.`;
    throw new AppError("UNSUPPORTED_PARAMETER", message, { param: "n" });
  }
  return {
    jobs: Array.from({ length: count }, (_, choice) => jobOf(choice)),
    repeatsInput: true,
    join: joinChoices,
    joinStreams: mergedChoices,
  };
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
