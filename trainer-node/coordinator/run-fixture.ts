import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom as random } from "../../common/random.ts";
import { CAPABILITIES, type Capability } from "../../common/training/capabilities.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import type { RoundRecord } from "../../common/training/round-record.ts";
import type { Properties } from "../../common/training/selection-settings.ts";
import { Participant, type Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { createMemoryControl } from "../simulation/memory-control.ts";
import { createAggregation } from "./aggregation.ts";
import { type BlobFolder, openBlobFolder } from "./blobs/blob-folder.ts";
import type { OwnSelection } from "./own-strategies/own-selection.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import type { Evaluation, Participants, ParticipantTask } from "./participants/participants.ts";
import { runFederation } from "./run-federation.ts";

interface Trained {
  /** A model, or a blob that is stored already. */
  model: Uint8Array | { readonly sha256: string; readonly bytes: number };
  samples?: number | undefined;
  metrics?: Record<string, number>;
}

/** What a scripted participant answers. */
export interface Script {
  train(id: string, task: ParticipantTask): Trained | Promise<Trained>;
  evaluate?(id: string, task: ParticipantTask, signal: AbortSignal): Evaluation | Promise<Evaluation>;
}

export interface FixtureRun {
  readonly asked: { id: string; parameters: string; roundId: string }[];
  /** Rounds that participants were asked to stop their training for. */
  readonly closed: readonly string[];
  readonly problem: { code: string; message: string } | undefined;
  readonly rounds: readonly Round[];
  readonly records: readonly RoundRecord[];
  readonly initialBlob: string;
}

/** A model of one float tensor. */
export const model = (...values: number[]): Uint8Array =>
  encodeParameters([{ name: "w", dtype: "f32", shape: [values.length], data: Float32Array.from(values) }], "safetensors");

/** How long a call takes that does not train. */
const CALL_MS = 20;

export interface FixtureOptions {
  readonly initial?: Uint8Array;
  readonly participants?: number;
  /** Of every participant; all where absent. */
  readonly capabilities?: readonly Capability[];
  /** What each participant says about itself. */
  readonly properties?: (id: string) => Properties;
  readonly selectByFunction?: OwnSelection;
  /** Ids of participants that cannot be reached. */
  readonly away?: readonly string[];
  /** Whether a participant of an open federation is there; absent: all are. */
  readonly isPresent?: (id: string) => boolean;
  /** Whether the round that begins now has to wait for credit. */
  readonly lacksCredit?: () => boolean;
  /** Most concurrent calls; absent: one for each participant. */
  readonly callsMax?: number;
  /** Whether another coordinator began the round. */
  readonly isRoundOpen?: boolean;
  /** Abandoned rounds whose noised updates had arrived before. */
  readonly spentRounds?: number;
}

export interface RunFixture {
  readonly blobs: BlobFolder;
  /** Runs a federation of scripted participants to its end, with the control plane's state in memory. */
  run(given: object, script: Script, options?: FixtureOptions): Promise<FixtureRun>;
  /** The numbers of a stored model. */
  valuesOf(sha256: string): Promise<number[]>;
  close(): Promise<void>;
}

/** Opens a fixture for tests of whole federations at the coordinator, without processes. */
export function openRunFixture(): RunFixture {
  const folder = mkdtempSync(join(tmpdir(), "tributary-run-"));
  const blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
  const aggregation = createAggregation({ blobs, recordBytes: 1_000_000, logger: silentLogger });
  const run: RunFixture["run"] = async (given, script, options = {}) => {
    const { initial, participants: count = 2, callsMax = count, capabilities = CAPABILITIES, properties, selectByFunction } = options;
    const requireThere = (id: string): void => {
      if (options.away?.includes(id)) throw new ParticipantProblem("it cannot be reached", { again: true });
    };
    const asked: FixtureRun["asked"] = [];
    const closed: string[] = [];
    const closing: Promise<void>[] = [];
    const train = async ({ id }: Participant, task: ParticipantTask) => {
      asked.push({ id, parameters: task.parameters, roundId: task.roundId });
      const { model: given, samples, metrics = {} } = await script.train(id, task);
      const { sha256: blob, bytes } = given instanceof Uint8Array ? await blobs.keepBytes(given) : given;
      return { blob, bytes, samples, metrics };
    };
    const evaluate = async ({ id }: Participant, task: ParticipantTask, signal: AbortSignal) => script.evaluate?.(id, task, signal);
    const participants = {
      reach: async ({ id }: Participant) => {
        requireThere(id);
        return "octets";
      },
      capabilities: async ({ id }: Participant) => {
        requireThere(id);
        return new Set(capabilities);
      },
      properties: async ({ id }: Participant) => {
        requireThere(id);
        return properties?.(id) ?? {};
      },
      isPresent: ({ id }: Participant) => options.isPresent?.(id),
      train,
      evaluate,
      closeRound: ({ id }: Participant, roundId: string, signal: AbortSignal) => {
        const called = clock.sleep(CALL_MS, signal).then(() => void closed.push(`${id} ${roundId}`));
        closing.push(called);
        return called;
      },
    } as unknown as Participants;
    const members = Array.from({ length: count }, (_, index) =>
      Participant.fromPartial({ id: `p${index + 1}`, url: `http://p${index + 1}` }),
    );
    const defaults = { task: "own", rounds: 1, deadlineMs: 5000, ...(script.evaluate ? {} : { eval: { mode: "none" } }) };
    const settings = federationSettings.parse({ ...defaults, ...given });
    const initialBlob = initial ? (await blobs.keepBytes(initial)).sha256 : "";
    const memory = createMemoryControl({
      ...{ settings: JSON.stringify(settings), participants: members, initialBlob },
      ...{ spentRounds: options.spentRounds, now: clock.now, random, onCommitted: async () => {} },
    });
    const deps = { participants, aggregation, selectByFunction, blobs, clock, random, logger: silentLogger, callsMax };
    const ended = new AbortController();
    const openRound: typeof memory.control.openRound = async (...ids) => {
      if (options.lacksCredit?.()) throw new AppError("QUOTA_EXCEEDED", "The organization has no credit.");
      return await memory.control.openRound(...ids);
    };
    const begun = {
      deps,
      control: { ...memory.control, openRound },
      settings,
      members,
      signal: ended.signal,
      federation: memory.federation,
    };
    const problem = await runFederation(begun, { isRoundOpen: options.isRoundOpen ?? false }).then(
      () => undefined,
      (thrown: { code: string; message: string }) => ({ code: thrown.code, message: thrown.message }),
    );
    // As the coordinator does when its work on a federation ends.
    ended.abort();
    await Promise.allSettled(closing);
    const records = memory.rounds.map(({ record }) => JSON.parse(record) as RoundRecord);
    return { asked, closed, problem, rounds: memory.rounds, records, initialBlob };
  };
  return {
    blobs,
    run,
    valuesOf: async (sha256) => Array.from(decodeParameters(await blobs.read(sha256)).tensors[0]?.data as Float32Array),
    close: async () => {
      await aggregation.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
