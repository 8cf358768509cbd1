import { rm } from "node:fs/promises";
import { join } from "node:path";
import { strategyNamed } from "../../../common/strategies/shared/registry.ts";
import type { FederationSettings } from "../../../common/training/federation-settings.ts";
import type { Federation, Participant, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { CONTROL_PREFIX, ownControls, splitControls } from "../../compute/control-variates.ts";
import { type FloatTensor, isFloat } from "../../compute/tensor.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import type { FederationControl } from "../control.ts";

/**
 * The control variate of each participant (SCAFFOLD's c_i), which is the sum of the changes in its updates so far. Participants keep no
 * state: each gets its own beside the parameters, so an update that was lost or refused is not in it.
 */
export interface OwnControls {
  /** Runs work with the parameters that a participant trains: the head's, and its control variate beside them. */
  withParameters<Result>(head: string, participant: Participant, work: (parameters: string) => Promise<Result>): Promise<Result>;
  /** Adds the changes of a round's updates. They count when the returned function is called, after the round's commit. */
  add(accepted: readonly RoundParticipant[]): Promise<() => Promise<void>>;
}

/** The parts of a running federation that its control variates need. */
interface ControlledRun {
  readonly deps: { readonly blobs: BlobFolder };
  readonly control: Pick<FederationControl, "history">;
  readonly settings: Pick<FederationSettings, "strategy">;
  readonly federation: Pick<Federation, "headRound">;
}

/** Opens the control variates of a federation; undefined if its strategy has none. */
export function openOwnControls({ deps, control, settings, federation }: ControlledRun): OwnControls | undefined {
  if (!strategyNamed(settings.strategy.name).carriesControls) return undefined;
  // They are made of the federation's updates, and can be made again, so they do not count for its organization.
  const blobs = deps.blobs.of("");
  const sums = new Map<string, string>();
  /** How many participants have parameters of this hash now: those with equal data may have the same. */
  const sent = new Map<string, number>();
  const remove = (sha256: string): Promise<void> => rm(join(blobs.folder, sha256), { force: true });
  /** Sums of a federation that another coordinator began, or whose blob was swept, are made from its committed rounds. */
  const remade = async (id: string): Promise<string | undefined> => {
    const hashes = await committedUpdates(control, id);
    const sum = hashes.length === 0 ? undefined : await keepSum(blobs, hashes);
    if (sum !== undefined) sums.set(id, sum);
    return sum;
  };
  const sumOf = async (id: string): Promise<string | undefined> => {
    const known = sums.get(id);
    if (known === undefined && federation.headRound === 0) return undefined;
    return known !== undefined && (await blobs.find(known)) ? known : remade(id);
  };
  return {
    withParameters: async (head, { id }, work) => {
      const sum = head === "" ? undefined : await sumOf(id);
      if (sum === undefined) return work(head);
      const { sha256 } = await blobs.keepBytes(await joined(blobs, head, sum));
      sent.set(sha256, (sent.get(sha256) ?? 0) + 1);
      try {
        return await work(sha256);
      } finally {
        const others = (sent.get(sha256) ?? 1) - 1;
        sent.set(sha256, others);
        if (others === 0) await remove(sha256);
      }
    },
    add: async (accepted) => {
      const next: [string, string][] = [];
      for (const { participantId: id, updateBlob } of accepted) {
        const sum = await sumOf(id);
        next.push([id, await keepSum(blobs, sum === undefined ? [updateBlob] : [updateBlob, sum])]);
      }
      return async () => {
        const before = next.flatMap(([id]) => sums.get(id) ?? []);
        for (const [id, sum] of next) sums.set(id, sum);
        const used = new Set(sums.values());
        for (const sum of before) if (!used.has(sum)) await remove(sum);
      };
    },
  };
}

/** The updates of a participant that committed rounds accepted and aggregated, oldest first. */
async function committedUpdates(control: ControlledRun["control"], id: string): Promise<string[]> {
  const hashes: string[] = [];
  for (let after = 0; ; ) {
    const page = await control.history(after);
    const last = page.at(-1);
    if (!last) return hashes;
    after = last.round;
    const own = page.flatMap(({ participants }) => participants.filter(({ participantId }) => participantId === id));
    hashes.push(...own.filter(({ state, kept }) => state === "accepted" && kept !== false).map(({ updateBlob }) => updateBlob));
  }
}

/** Stores the sum of the control tensors of blobs, without the model beside them. */
async function keepSum(blobs: BlobFolder, hashes: readonly string[]): Promise<string> {
  let sum: FloatTensor[] | undefined;
  for (const hash of hashes) {
    const { controls } = splitControls(decodeParameters(await blobs.read(hash)).tensors);
    const changes = new Map(controls.filter(isFloat).map((tensor) => [tensor.name, tensor]));
    sum = sum ? sum.map((tensor) => plus(tensor, changes.get(tensor.name))) : [...changes.values()];
  }
  const tensors = (sum ?? []).map((tensor) => ({ ...tensor, name: CONTROL_PREFIX + tensor.name }));
  return (await blobs.keepBytes(encodeParameters(tensors, "safetensors"))).sha256;
}

function plus(tensor: FloatTensor, other: FloatTensor | undefined): FloatTensor {
  if (!other || other.data.length !== tensor.data.length) throw new Error(`updates of one participant differ in tensor ${tensor.name}`);
  return { ...tensor, data: tensor.data.map((value, index) => value + (other.data[index] as number)) };
}

async function joined(blobs: BlobFolder, head: string, sum: string): Promise<Uint8Array> {
  const { tensors, format } = decodeParameters(await blobs.read(head));
  const { controls } = splitControls(decodeParameters(await blobs.read(sum)).tensors);
  return encodeParameters([...tensors, ...ownControls(controls)], format);
}
