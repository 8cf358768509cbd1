import { Stack, Text, ThemeIcon } from "@mantine/core";
import type { TablerIcon } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** An empty state with an explanation and the next step. */
export function Empty({
  icon: Icon,
  title,
  children,
  action,
}: {
  icon: TablerIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <ThemeIcon size={48} radius="xl" variant="light" aria-hidden>
        <Icon size={26} />
      </ThemeIcon>
      <Text fw={600}>{title}</Text>
      {children && (
        <Text c="dimmed" maw={460} size="sm">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}
