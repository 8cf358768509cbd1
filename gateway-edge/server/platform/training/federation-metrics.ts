import { toJson } from "../../../../common/json.ts";
import type { Federation, Round } from "../../../../proto/gen/tributary/training/v1/training.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { idParams } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/training.ts";
import { ContentStream } from "../../middleware/content-stream.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { csvCell } from "../logs-csv.ts";
import { sent } from "../present.ts";
import { eachRound } from "./read-rounds.ts";
import { participantMetrics, roundMetrics } from "./round-metrics.ts";
import { tensorboardScalar, tensorboardStart } from "./tensorboard.ts";

/** A federation's metrics of all committed rounds, as JSON, CSV or a TensorBoard event file. */
export function federationMetricsOperations(deps: EdgeDeps): Operation[] {
  return [
    operation({
      method: "get",
      path: "/training/federations/:id/metrics",
      summary: "Export the metrics of every committed round: means and per participant, as JSON, CSV or a TensorBoard event file",
      tag: "Training",
      auth: "user",
      apiKey: true,
      params: idParams,
      query: schemas.metricsQuery,
      status: 200,
      answer: schemas.metricsAnswer,
      handler: async ({ params, query: { format } }, call) => {
        const federation = sent((await deps.control.training.getFederation(params, call.read())).federation, "federation");
        const { contentType, fileName, write } = FORMATS[format];
        const parts = write(federation, committed(eachRound(deps, federation.id, call)));
        return new ContentStream({ contentType, ...(fileName ? { fileName: fileName(federation) } : {}), parts });
      },
    }),
  ];
}

async function* committed(rounds: AsyncIterable<Round>): AsyncGenerator<Round> {
  for await (const round of rounds) if (round.state === "committed") yield round;
}

interface Format {
  readonly contentType: string;
  /** Absent: the answer is no download. */
  readonly fileName?: (federation: Federation) => string;
  write(federation: Federation, rounds: AsyncIterable<Round>): AsyncIterable<string | Uint8Array>;
}

const FORMATS: Readonly<Record<"json" | "csv" | "tensorboard", Format>> = {
  json: { contentType: "application/json; charset=utf-8", write: asJson },
  csv: { contentType: "text/csv; charset=utf-8", fileName: ({ id }) => `${id}-metrics.csv`, write: asCsv },
  // TensorBoard reads files whose name has `tfevents`.
  tensorboard: {
    contentType: "application/octet-stream",
    fileName: ({ id, createdAt }) => `events.out.tfevents.${Math.floor((createdAt?.getTime() ?? 0) / 1000)}.${id}`,
    write: asTensorboard,
  },
};

async function* asJson({ id }: Federation, rounds: AsyncIterable<Round>): AsyncGenerator<string> {
  let separator = `{"federationId":${toJson(id)},"rounds":[`;
  for await (const round of rounds) {
    const participants = [...participantMetrics(round)].map(([participantId, one]) => ({ participantId, ...one }));
    const { accuracy = null, loss = null } = round;
    yield separator + toJson({ round: round.round, accuracy, loss, metrics: roundMetrics(round), participants });
    separator = ",";
  }
  yield separator === "," ? "]}" : `${separator}]}`;
}

async function* asCsv(_federation: Federation, rounds: AsyncIterable<Round>): AsyncGenerator<string> {
  yield "round,participant,operation,metric,value\r\n";
  for await (const round of rounds) {
    const rows = [...valuesOf(round)].map(({ participant, operation: kind, metric, value }) =>
      [round.round, participant, kind, metric, value].map(csvCell).join(","),
    );
    if (rows.length > 0) yield `${rows.join("\r\n")}\r\n`;
  }
}

async function* asTensorboard({ createdAt }: Federation, rounds: AsyncIterable<Round>): AsyncGenerator<Uint8Array> {
  yield tensorboardStart(createdAt?.getTime() ?? 0);
  for await (const round of rounds) {
    const atMs = (round.committedAt ?? round.openedAt)?.getTime() ?? 0;
    const scalars = [...valuesOf(round)].map(({ participant, operation: kind, metric, value }) => {
      const tag = [participant, kind, metric].filter((part) => part !== "").join("/");
      return tensorboardScalar({ tag, step: round.round, value, atMs });
    });
    yield Buffer.concat(scalars);
  }
}

/** Every number of a round: first the means, with an empty participant. */
function* valuesOf(round: Round): Generator<{ participant: string; operation: "train" | "evaluate"; metric: string; value: number }> {
  const all = [["", roundMetrics(round)] as const, ...[...participantMetrics(round)].map(([id, { metrics }]) => [id, metrics] as const)];
  for (const [participant, metrics] of all) {
    for (const kind of ["train", "evaluate"] as const) {
      for (const [metric, value] of Object.entries(metrics[kind])) yield { participant, operation: kind, metric, value };
    }
  }
}
