import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import { privacyRules } from "../../common/training/privacy-rules.ts";
import type { Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "./deps.ts";
import type { ParticipantTask } from "./participants/participants.ts";
import { datasetOf } from "./select.ts";
import { updateOrigin } from "./updates/update-origin.ts";

/** A participant's task in a round: the head's parameters, its part of the data, the task's settings. */
export function trainTask(run: FederationRun, participant: Participant, round: number): ParticipantTask {
  const { settings, federation } = run;
  const { task, strategy, seed } = settings;
  return {
    parameters: federation.headBlob,
    dataset: ownDataset(run, participant),
    config: {
      task: task.name,
      // New models must have the same seed everywhere, or their mean is meaningless. Later rounds have different seeds.
      seed: (seed + (federation.headBlob === "" ? 0 : round)) % 2 ** 32,
      ...strategyNamed(strategy.name).prepare?.(strategy),
      ...task.config,
      ...privacyRules(settings).config,
      // Without parameters to start from, the whole model is the update.
      ...(settings.compression && federation.headBlob !== "" ? { compress: settings.compression } : {}),
    },
    key: `${federation.id}/${round}/${participant.id}/${federation.headBlob.slice(0, 16)}`,
    roundId: `${federation.id}/${round}`,
    clientId: participant.id,
    origin: updateOrigin(settings),
  };
}

/** A participant's dataset in a federation. */
export function ownDataset({ federation, settings }: Pick<FederationRun, "federation" | "settings">, participant: Participant): unknown {
  const index = federation.participants.findIndex(({ id }) => id === participant.id);
  return datasetOf(participant, { shared: settings.task.dataset, index, of: federation.participants.length });
}
