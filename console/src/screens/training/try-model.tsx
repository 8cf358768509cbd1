import { Button, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { openAnswer } from "../../api/client.ts";
import type { TrainedModel, TrainedVersion } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { inputHint } from "../playground/choose-models.ts";
import { usePlaygroundKey } from "../playground/use-playground-key.ts";
import { DigitGrid } from "./digit-grid.tsx";
import { EMPTY_DIGIT } from "./digit-row.ts";

const TEXT_TASKS = ["text_classifier", "byte_lm"];

interface TryModelProps {
  model: TrainedModel;
  version: TrainedVersion;
  teamId: string;
  /** Whether the model was trained on the built-in digits, whose rows are pictures. */
  isDigits: boolean;
}

/** One call of the published model, with the input that its task needs: a drawn digit, a row of features or a text. */
export function TryModel({ model, version, teamId, isDigits }: TryModelProps) {
  const task = String(version.task["task"] ?? "");
  const columns = version.task["columns"];
  const isText = TEXT_TASKS.includes(task);
  const [input, setInput] = useState(() => (isText ? "" : JSON.stringify(isDigits ? EMPTY_DIGIT : firstRow(columns))));
  const keyOf = usePlaygroundKey();
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: async () => {
      const body = { model: model.name, messages: [{ role: "user", content: input }] };
      const headers = { authorization: `Bearer ${await keyOf(teamId)}` };
      const answer = JSON.parse(await (await openAnswer("/v1/chat/completions", { body, headers })).text()) as Answered;
      return answer.choices[0]?.message.content ?? "";
    },
  });
  return (
    <form
      aria-label="Try the model"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <Stack gap="xs">
        <Title order={3} size="h6">
          Try {model.name}
        </Title>
        <Group align="flex-start" gap="md">
          {isDigits && !isText && <DigitGrid value={input} onValue={setInput} />}
          <Textarea
            label={isText ? "Text" : "Row of features (JSON)"}
            description={inputHint({ trained: { task } })}
            value={input}
            onChange={(event) => setInput(event.currentTarget.value)}
            autosize
            minRows={2}
            maxRows={6}
            flex={1}
            miw={220}
          />
        </Group>
        <Group>
          <Button type="submit" variant="light" loading={isPending} disabled={input.trim() === ""}>
            Predict
          </Button>
          <Text size="sm" role="status">
            {data === undefined ? "" : `Answer: ${data}`}
          </Text>
        </Group>
        <Failure error={error} />
      </Stack>
    </form>
  );
}

interface Answered {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}

const firstRow = (columns: unknown): unknown =>
  Array.isArray(columns) ? Object.fromEntries(columns.map((name) => [String(name), 0])) : [0];
