import { Button, Code, Group, SegmentedControl, Stack, Text, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { adminCall } from "../../../api/admin.ts";
import { Failure } from "../../../components/failure.tsx";
import { StateBadge } from "../../../components/state-badge.tsx";

interface Tried {
  readonly action: "allow" | "block" | "mask";
  readonly text: string | null;
  readonly reason: string | null;
}

const DONE = { allow: "accepted", block: "blocked", mask: "masked" } as const;

/** Shows what a guardrail decides about a text: one that exists, by its name, or one that is not saved. */
export function TryOut({ guardrail }: { guardrail: { name: string } | { kind: string; settings: object } }) {
  const [text, setText] = useState("");
  const [stage, setStage] = useState("pre");
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => adminCall("POST", "guardrails/try", { ...guardrail, text, stage }) as Promise<Tried>,
  });
  return (
    <Stack gap="xs">
      <Textarea
        label="Try a text"
        description="It is checked here and now; nothing is called, stored or counted"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        autosize
        minRows={2}
        maxRows={8}
      />
      <Group>
        <SegmentedControl
          size="xs"
          aria-label="Checked as"
          value={stage}
          onChange={setStage}
          data={[
            { value: "pre", label: "as a request" },
            { value: "post", label: "as a response" },
          ]}
        />
        <Button size="xs" variant="light" loading={isPending} disabled={text === ""} onClick={() => mutate()}>
          Try
        </Button>
      </Group>
      <Failure error={error} />
      <div aria-live="polite">
        {data && (
          <Stack gap={4}>
            <Group gap="xs">
              <StateBadge state={DONE[data.action]} />
              {data.reason && <Text size="sm">{data.reason}</Text>}
            </Group>
            {data.action === "mask" && <Code block>{data.text}</Code>}
          </Stack>
        )}
      </div>
    </Stack>
  );
}
