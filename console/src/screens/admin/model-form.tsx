import { Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { providersQuery } from "../../api/admin.ts";
import type { Model } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { usdOf } from "../../format/money.ts";
import { priceOf, priceProblem } from "../../format/price.ts";
import { useAdminChange } from "./use-admin-change.ts";

const TYPES = ["chat", "completion", "embedding", "image", "audio_speech", "audio_transcription", "moderation", "rerank"];

/** Adds a model, or sets a new price: the previous price version stays in the catalog. */
export function ModelForm({ model, onClose }: { model: Model | undefined; onClose: () => void }) {
  const { data: providers } = useQuery(providersQuery);
  const [form, setForm] = useState({
    name: "",
    provider: "",
    inferenceModelId: "",
    type: "chat",
    input: usdOf(model?.pricing?.input ?? 0),
    output: usdOf(model?.pricing?.output ?? 0),
    effectiveAt: "",
  });
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const { mutate, error, isPending } = useAdminChange(onClose);
  const problems = { input: priceProblem(form.input), output: priceProblem(form.output) };
  const save = () => {
    const pricing = {
      ...unchangedPrices(model),
      input: priceOf(form.input),
      output: priceOf(form.output),
      ...(form.effectiveAt === "" ? {} : { effectiveAt: new Date(form.effectiveAt).toISOString() }),
    };
    const { name, provider, inferenceModelId, type } = form;
    if (model) mutate({ method: "PATCH", path: `models/${model.id}`, body: { pricing }, done: `Price of ${model.name} updated.` });
    else mutate({ method: "POST", path: "models", body: { name, provider, inferenceModelId, type, pricing }, done: `${name} added.` });
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
          {!model && (
            <>
              <TextInput
                label="Name"
                description="The model name that clients send"
                required
                value={form.name}
                onChange={(event) => set({ name: event.currentTarget.value })}
              />
              <Select
                label="Provider"
                required
                data={(providers?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
                value={form.provider || null}
                onChange={(provider) => set({ provider: provider ?? "" })}
              />
              <TextInput
                label="Model ID at the provider"
                required
                value={form.inferenceModelId}
                onChange={(event) => set({ inferenceModelId: event.currentTarget.value })}
              />
              <Select
                label="Type"
                data={TYPES}
                value={form.type}
                onChange={(type) => set({ type: type ?? "chat" })}
                allowDeselect={false}
              />
            </>
          )}
          <Group grow align="flex-start">
            <TextInput
              label="Input, USD per 1M"
              value={form.input}
              onChange={(event) => set({ input: event.currentTarget.value })}
              error={problems.input}
            />
            <TextInput
              label="Output, USD per 1M"
              value={form.output}
              onChange={(event) => set({ output: event.currentTarget.value })}
              error={problems.output}
            />
          </Group>
          <TextInput
            type="datetime-local"
            label="Effective from"
            description="Leave empty for now"
            value={form.effectiveAt}
            onChange={(event) => set({ effectiveAt: event.currentTarget.value })}
          />
          <Group justify="flex-end">
            <Button type="submit" loading={isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** Prices that this form does not show are copied, because a price version replaces all prices. */
function unchangedPrices(model: Model | undefined): object {
  if (!model?.pricing) return { unit: "token" };
  const { unit, cachedInput, cacheWrite, cacheWriteHour, audioInput, audioOutput, webSearch, fees, images, tiers } = model.pricing;
  const unchangedTiers = tiers.map((tier) => ({
    aboveInputTokens: tier.aboveInputTokens,
    input: tier.input,
    output: tier.output,
    cachedInput: tier.cachedInput,
    cacheWrite: tier.cacheWrite,
    cacheWriteHour: tier.cacheWriteHour,
  }));
  return { unit, cachedInput, cacheWrite, cacheWriteHour, audioInput, audioOutput, webSearch, fees, images, tiers: unchangedTiers };
}
