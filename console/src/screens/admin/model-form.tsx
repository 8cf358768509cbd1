import { Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { providersQuery } from "../../api/admin.ts";
import type { Model } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { FormButtons } from "../../components/form-buttons.tsx";
import { usdOf } from "../../format/money.ts";
import { priceOf, priceProblem } from "../../format/price.ts";
import { copiedPrices } from "./copied-prices.ts";
import { useAdminChange } from "./use-admin-change.ts";

const TYPES = ["chat", "completion", "embedding", "image", "audio_speech", "audio_transcription", "moderation", "rerank"];

/** Adds a model, or sets a new price: the previous price version stays in the catalog. */
export function ModelForm({ model, onClose }: { model: Model | undefined; onClose: () => void }) {
  const [named, setNamed] = useState<NamedModel>({ name: "", provider: "", inferenceModelId: "", type: "chat" });
  const [price, setPrice] = useState({
    input: model ? usdOf(model.pricing?.input ?? 0) : "",
    output: model ? usdOf(model.pricing?.output ?? 0) : "",
    effectiveAt: "",
  });
  const set = (change: Partial<typeof price>) => setPrice({ ...price, ...change });
  const { mutate, error, isPending } = useAdminChange(onClose);
  const isListPrice = !model && price.input.trim() === "" && price.output.trim() === "";
  const problems = isListPrice ? {} : { input: ownPriceProblem(price.input), output: ownPriceProblem(price.output) };
  const save = () => {
    const pricing = isListPrice ? undefined : pricingOf(price, model);
    if (model) mutate({ method: "PATCH", path: `models/${model.id}`, body: { pricing }, done: `Price of ${model.name} updated.` });
    else mutate({ method: "POST", path: "models", body: { ...named, pricing }, done: `${named.name} added.` });
  };
  return (
    <Modal opened onClose={onClose} title={model ? `Price of ${model.name}` : "Add model"} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!problems.input && !problems.output) save();
        }}
      >
        <Stack gap="sm">
          <Failure error={error} />
          {!model && <NameFields named={named} onChange={setNamed} />}
          <Group grow align="flex-start">
            <TextInput
              label="Input, USD per 1M"
              placeholder={isListPrice ? "List price" : undefined}
              value={price.input}
              onChange={(event) => set({ input: event.currentTarget.value })}
              error={problems.input}
            />
            <TextInput
              label="Output, USD per 1M"
              placeholder={isListPrice ? "List price" : undefined}
              value={price.output}
              onChange={(event) => set({ output: event.currentTarget.value })}
              error={problems.output}
            />
          </Group>
          {model && (
            <TextInput
              type="datetime-local"
              label="Effective from"
              description="Leave empty for now"
              value={price.effectiveAt}
              onChange={(event) => set({ effectiveAt: event.currentTarget.value })}
            />
          )}
          <FormButtons action="Save" isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

/** An own price is never free by a field that was left empty. */
const ownPriceProblem = (text: string): string | undefined => (text.trim() === "" ? "Enter a price, 0 if free" : priceProblem(text));

function pricingOf({ input, output, effectiveAt }: { input: string; output: string; effectiveAt: string }, model: Model | undefined) {
  return {
    ...copiedPrices(model?.pricing),
    input: priceOf(input),
    output: priceOf(output),
    ...(effectiveAt === "" ? {} : { effectiveAt: new Date(effectiveAt).toISOString() }),
  };
}

interface NamedModel {
  readonly name: string;
  readonly provider: string;
  readonly inferenceModelId: string;
  readonly type: string;
}

function NameFields({ named, onChange }: { named: NamedModel; onChange: (named: NamedModel) => void }) {
  const { data: providers } = useQuery(providersQuery);
  return (
    <>
      <TextInput
        label="Name"
        description="The model name that clients send"
        required
        value={named.name}
        onChange={(event) => onChange({ ...named, name: event.currentTarget.value })}
      />
      <Select
        label="Provider"
        required
        data={(providers?.data ?? []).filter(({ source }) => source === "catalog").map(({ id, name }) => ({ value: id, label: name }))}
        value={named.provider || null}
        onChange={(provider) => onChange({ ...named, provider: provider ?? "" })}
      />
      <TextInput
        label="Model ID at the provider"
        required
        value={named.inferenceModelId}
        onChange={(event) => onChange({ ...named, inferenceModelId: event.currentTarget.value })}
      />
      <Select
        label="Type"
        data={TYPES}
        value={named.type}
        onChange={(type) => onChange({ ...named, type: type ?? "chat" })}
        allowDeselect={false}
      />
    </>
  );
}
