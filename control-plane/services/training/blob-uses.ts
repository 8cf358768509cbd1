import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { RoundRecord } from "../../../common/training/round-record.ts";
import type { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { TrainedVersion } from "../../domain/trained-records.ts";
import type { Federation, TrainingRound } from "../../domain/training-records.ts";
import { collect } from "../../stores/page.ts";
import type { Store } from "../../stores/store.ts";
import { openRoundOf } from "../../writes/federations.ts";
import type { ControlDeps } from "../deps.ts";

const PAGE_MAX = 1000;
const SOURCES = ["trainingRounds", "federations", "trainedVersions"] as const;
type Source = (typeof SOURCES)[number];

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Lists every referenced blob, page by page, so that coordinators can delete the others. */
export function blobUseHandlers({ store }: ControlDeps): Pick<Handlers, "listBlobUses"> {
  return {
    async listBlobUses({ after, limit }) {
      const [source, id] = readCursor(after);
      const range = { limit: Math.min(Math.max(1, limit), PAGE_MAX), ...(id === "" ? {} : { after: [id] }) };
      const { blobs, last, count } = await readSource(store, source, range);
      const isMore = count === range.limit;
      const following = SOURCES[SOURCES.indexOf(source) + 1];
      const next = isMore ? `${source}:${last}` : following === undefined ? "" : `${following}:`;
      return {
        blobs: [...new Set(blobs.filter((blob) => blob !== ""))],
        next,
        oldestWorkAt: after === "" ? await oldestWork(store) : undefined,
      };
    },
  };
}

function readCursor(after: string): [Source, string] {
  if (after === "") return [SOURCES[0], ""];
  const at = after.indexOf(":");
  const source = SOURCES.find((name) => name === after.slice(0, at));
  if (!source) throw new AppError("VALIDATION_ERROR", "The cursor is not valid. Use `next` from the previous page.");
  return [source, after.slice(at + 1)];
}

async function readSource(store: Store, source: Source, range: { limit: number; after?: readonly string[] }) {
  const blobs: string[] = [];
  let [last, count] = ["", 0];
  for await (const record of store.scan(source, range)) {
    count++;
    last = record.id;
    blobs.push(...BLOBS_OF[source](record as never));
  }
  return { blobs, last, count };
}

const BLOBS_OF: {
  readonly [Name in Source]: (
    record: { trainingRounds: TrainingRound; federations: Federation; trainedVersions: TrainedVersion }[Name],
  ) => string[];
} = {
  // Blobs of an abandoned round are not needed any more.
  trainingRounds: ({ state, participants, record }) =>
    state === "abandoned" ? [] : [...participants.map(({ updateBlob }) => updateBlob), ...recorded(record)],
  federations: ({ head, initialBlob = "", outer }) => [head.blob, head.stateBlob, initialBlob, outer?.parameters ?? ""],
  trainedVersions: ({ blob }) => (blob === undefined ? [] : [blob]),
};

function recorded(text: string): string[] {
  if (text === "") return [];
  const { base, state, updates, result, strategy } = JSON.parse(text) as RoundRecord;
  const { proof } = Object(strategy["secure"]) as { proof?: unknown };
  return [base ?? "", state ?? "", result, ...updates.map(({ hash }) => hash), ...(typeof proof === "string" ? [proof] : [])];
}

/** When the oldest open round was opened. */
async function oldestWork(store: Store): Promise<Date | undefined> {
  const active = await collect(store.scan("federations", { index: "byDue" }));
  const rounds = await Promise.all(active.map((federation) => openRoundOf(store, federation)));
  const opened = rounds.flatMap((round) => (round ? [round.openedAt] : []));
  return opened.length === 0 ? undefined : new Date(Math.min(...opened));
}
