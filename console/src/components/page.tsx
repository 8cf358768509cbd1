import { Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

interface PageProps {
  title: string;
  about?: ReactNode;
  action?: ReactNode;
  /** The screen has the height of the window, and its parts scroll. */
  isTall?: boolean;
  children: ReactNode;
}

/** The layout of every screen inside the shell: heading, description and main action. */
export function Page({ title, about, action, isTall, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Tributary`;
  }, [title]);
  return (
    <Stack gap={isTall ? "sm" : "lg"} maw={isTall ? undefined : 1240} mx="auto" className={isTall ? "tall-page" : undefined}>
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
