import { Button, Group, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { publish } from "../../api/training.ts";
import type { Federation, TrainedModel } from "../../api/types.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { formatUsd, usdOf } from "../../format/money.ts";
import { priceOf, priceProblem } from "../../format/price.ts";

interface PublishFormProps {
  federation: Federation;
  /** The model that the federation is already published as. */
  known: TrainedModel | undefined;
  onPublished: (model: string) => Promise<void>;
}

/** Publishes a round as the next version of a model; the form suggests a valid name and shows the price of calls. */
export function PublishForm({ federation, known, onPublished }: PublishFormProps) {
  const [typed, setTyped] = useState<string>();
  const [round, setRound] = useState<number | undefined>();
  const [price, setPrice] = useState({ input: "", output: "" });
  const name = typed ?? known?.name ?? federation.modelName;
  const isPriced = price.input.trim() !== "" || price.output.trim() !== "";
  const pricing = isPriced ? { unit: "token", input: priceOf(price.input), output: priceOf(price.output) } : undefined;
  const problems = { input: priceProblem(price.input), output: priceProblem(price.output) };
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      publish(federation.id, { model: name.trim(), ...(round === undefined ? {} : { round }), ...(pricing ? { pricing } : {}) }),
    onSuccess: async ({ model, version }) => {
      notifyDone(`${model.name} version ${version.version} is published, ${trainedPriceText(model.pricing)}.`);
      await onPublished(model.name);
    },
  });
  const canPublish = federation.head !== null && name.trim() !== "" && !problems.input && !problems.output;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canPublish) mutate();
      }}
    >
      <Stack gap="sm">
        <Group align="flex-start" gap="sm">
          <TextInput label="Model name" value={name} onChange={(event) => setTyped(event.currentTarget.value)} />
          <NumberInput
            label="Round"
            placeholder="Last"
            min={1}
            max={federation.head?.round ?? 1}
            value={round ?? ""}
            onChange={(value) => setRound(value === "" ? undefined : Number(value))}
            w={110}
          />
          {(["input", "output"] as const).map((side) => (
            <TextInput
              key={side}
              label={side === "input" ? "Input, USD per 1M tokens" : "Output, USD per 1M tokens"}
              placeholder="0"
              value={price[side]}
              onChange={(event) => setPrice({ ...price, [side]: event.currentTarget.value })}
              error={problems[side]}
              w={190}
            />
          ))}
          <Button type="submit" loading={isPending} disabled={!canPublish} mt={24}>
            Publish
          </Button>
        </Group>
        <Text size="sm" c="dimmed" role="status">
          {priceNote({ pricing, known: known?.name === name.trim() ? known : undefined })}
        </Text>
        <Failure error={error} />
      </Stack>
    </form>
  );
}

type Price = { unit: string; input: number; output: number };

function priceNote({ pricing, known }: { pricing: Price | undefined; known: TrainedModel | undefined }): string {
  if (pricing) return `Price: ${trainedPriceText(pricing)}.`;
  if (known) return `Without a price, the next version keeps the price of ${known.name}: ${trainedPriceText(known.pricing)}.`;
  return "Without a price, the model is free.";
}

/** A token of a trained model is a byte of text. */
function trainedPriceText(price: Price | null): string {
  if (!price || (price.input === 0 && price.output === 0)) return "free";
  const per = price.unit === "call" ? "1M calls" : "1M tokens";
  return `${formatUsd(usdOf(price.input))} in and ${formatUsd(usdOf(price.output))} out per ${per}`;
}
