import { Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

/** The layout of every screen inside the shell: heading, description and main action. */
export function Page({ title, about, action, children }: { title: string; about?: ReactNode; action?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Tributary`;
  }, [title]);
  return (
    <Stack gap="lg" maw={1240} mx="auto">
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {about && (
            <Text c="dimmed" mt={2}>
              {about}
            </Text>
          )}
        </div>
        {action}
      </Group>
      {children}
    </Stack>
  );
}
