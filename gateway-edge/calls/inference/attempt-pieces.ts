import type { CancelSignal } from "../../../common/cancel.ts";
import type { BytesPart, ConnectionWait, Send, StreamPart, UpstreamResponse } from "../../upstream/providers/provider.ts";
import { toTarget } from "../../upstream/target.ts";
import { parseAnswer, readFailure, wholeBody } from "../../upstream/transports/upstream.ts";
import type { Job, JobAnswer, JobAttempt, JobPieces } from "./job.ts";

/** An attempt in several requests over one `connection`: a failure of one closes it, which aborts the others. */
export interface PiecesAttempt<Answer> {
  readonly pieces: JobPieces<Answer>;
  readonly jobAttempt: JobAttempt;
  readonly connection: ConnectionWait & { readonly signal: CancelSignal; received(): void };
  readonly onStatus: (status: number) => void;
}

interface Sending {
  readonly send: Send;
}

/** Requests of one attempt that run at the same time, where each holds a part of the input. */
const PARTS_AT_ONCE = 4;

/** Whole answers, as one. */
export async function answerPieces<Answer>(deps: Sending, attempt: PiecesAttempt<Answer>): Promise<JobAnswer<Answer>> {
  const { jobs, inputReads, join } = attempt.pieces;
  const { provider, target } = attempt.jobAttempt;
  const ask = async (piece: Job<Answer>): Promise<JobAnswer<Answer>> => {
    const response = await open(deps, attempt, piece);
    const answer = piece.readAnswer(provider, parseAnswer(await wholeBody(response), piece.answerAs), target);
    attempt.connection.received();
    return answer;
  };
  return join(await askAll(jobs, { atOnce: inputReads ? jobs.length : PARTS_AT_ONCE, ask }));
}

/** Streams, as one. Every request is accepted before the first part is read, so that another deployment may still be tried. */
export async function streamPieces<Answer>(
  deps: Sending,
  attempt: PiecesAttempt<Answer>,
): Promise<{ parts: AsyncIterable<StreamPart | BytesPart>; contentType: string | undefined }> {
  const { jobs, joinStreams } = attempt.pieces;
  const { provider, target } = attempt.jobAttempt;
  if (!joinStreams) throw new Error("these pieces have no stream");
  const responses = await Promise.all(jobs.map((piece) => open(deps, attempt, piece)));
  const streams = jobs.map((piece, index) => piece.readStream(provider, (responses[index] as UpstreamResponse).body, target));
  return { parts: joinStreams(streams), contentType: responses[0]?.headers["content-type"] };
}

async function open<Answer>(
  { send }: Sending,
  { jobAttempt, connection, onStatus }: PiecesAttempt<Answer>,
  piece: Job<Answer>,
): Promise<UpstreamResponse> {
  const response = await send(toTarget(piece.request(jobAttempt), jobAttempt.target), connection.signal, connection);
  onStatus(response.status);
  if (response.status < 200 || response.status > 299) throw jobAttempt.provider.readError(await readFailure(response));
  return response;
}

/** Answers in the order of the jobs. After the first failure no further request begins. */
async function askAll<Answer>(
  jobs: readonly Job<Answer>[],
  { atOnce, ask }: { atOnce: number; ask: (job: Job<Answer>) => Promise<JobAnswer<Answer>> },
): Promise<JobAnswer<Answer>[]> {
  const answers = new Array<JobAnswer<Answer>>(jobs.length);
  const rest = jobs.entries();
  let failed = false;
  const worker = async () => {
    for (const [index, job] of rest) {
      if (failed) return;
      answers[index] = await ask(job);
    }
  };
  const fail = (thrown: unknown) => {
    failed = true;
    throw thrown;
  };
  await Promise.all(Array.from({ length: atOnce }, () => worker().catch(fail)));
  return answers;
}
