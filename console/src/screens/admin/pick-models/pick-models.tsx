import { Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { adminCall } from "../../../api/admin.ts";
import type { ListedModel, Provider } from "../../../api/types.ts";
import { Failure, notifyDone } from "../../../components/failure.tsx";
import { FormButtons } from "../../../components/form-buttons.tsx";
import { count } from "../../../format/text.ts";
import { refetchAdminLists } from "../use-admin-change.ts";
import { ListedModels } from "./listed-models.tsx";
import { PickedModels } from "./picked-models.tsx";
import { modelBody, type Pick, pickOf, problemsOf } from "./picks.ts";

type Picks = ReadonlyMap<string, Pick>;

/** Adds several models of a provider in one step, from the public price lists, at their list price or an own one. */
export function PickModels({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [picks, setPicks] = useState<Picks>(new Map());
  const [last, setLast] = useState("");
  const set = (pick: Pick) => setPicks((before) => new Map(before).set(pick.listed.inferenceModelId, pick));
  const drop = (id: string) => setPicks((before) => new Map([...before].filter(([known]) => known !== id)));
  const toggle = (listed: ListedModel, isPicked: boolean) => (isPicked ? set(pickOf(listed)) : drop(listed.inferenceModelId));
  const adding = useMutation({
    // One by one: what is added leaves the list, and the first refusal leaves it with the rest.
    mutationFn: async (chosen: readonly Pick[]) => {
      for (const pick of chosen) {
        setLast(pick.name);
        await adminCall("POST", "models", modelBody(pick, provider.id));
        drop(pick.listed.inferenceModelId);
      }
    },
    onSuccess: (_none, chosen) => {
      notifyDone(`${count(chosen.length, "model")} of ${provider.name} added.`);
      onClose();
    },
    onSettled: () => refetchAdminLists(queryClient),
  });
  const chosen = [...picks.values()];
  const isValid = chosen.length > 0 && chosen.every((pick) => Object.keys(problemsOf(pick)).length === 0);
  return (
    <Modal opened onClose={onClose} title={`Add models of ${provider.name}`} size="xl" centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isValid && !adding.isPending) adding.mutate(chosen);
        }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            Models of {provider.kind} in the public price lists. Prices are for 1M tokens unless another unit is named.
          </Text>
          <ListedModels provider={provider} isPicked={(id) => picks.has(id)} onToggle={toggle} />
          {chosen.length > 0 && <PickedModels picks={chosen} onChange={set} onRemove={drop} />}
          {adding.error && (
            <>
              <Text size="sm">{last} was not added.</Text>
              <Failure error={adding.error} />
            </>
          )}
          <FormButtons
            action={chosen.length === 0 ? "Add models" : `Add ${count(chosen.length, "model")}`}
            isPending={adding.isPending}
            isDisabled={!isValid}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Modal>
  );
}
