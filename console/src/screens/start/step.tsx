import { Group, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";

interface StepProps {
  number: number;
  title: string;
  isDone: boolean | undefined;
  /** Text shown once the step is done. */
  summary: ReactNode;
  /** True keeps the content open when the step is done. */
  isOpen?: boolean;
  children: ReactNode;
}

export function Step({ number, title, isDone, summary, isOpen, children }: StepProps) {
  return (
    <section className="card" style={{ padding: 16 }} data-step={number} data-done={isDone === true}>
      <Group align="flex-start" wrap="nowrap" gap="md">
        <ThemeIcon radius="xl" size={30} color={isDone ? "teal.8" : "gray"} variant={isDone ? "filled" : "default"}>
          {isDone ? <IconCheck size={18} aria-label="done" /> : <Text fw={600}>{number}</Text>}
        </ThemeIcon>
        <div style={{ flex: 1, minWidth: 0 }}>
          <Title order={2} size="h5" mt={3}>
            {title}
          </Title>
          {isDone && (
            <Text size="sm" c="dimmed" component="div" aria-live="polite">
              {summary}
            </Text>
          )}
          {(!isDone || isOpen) && <div style={{ marginTop: 12 }}>{children}</div>}
        </div>
      </Group>
    </section>
  );
}
