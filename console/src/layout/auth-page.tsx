import { Box, Center, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import { Logo } from "./logo.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";

/** The layout of screens without a session, such as login. */
export function AuthPage({ title, about, children }: { title: string; about?: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Tributary`;
  }, [title]);
  return (
    <Box mih="100vh">
      <Group justify="flex-end" p="md" component="header">
        <ThemeSwitch />
      </Group>
      <Center component="main" px="md" pb="xl" mih="80vh">
        <Stack w="100%" maw={400} gap="lg">
          <Stack gap={6} align="center" ta="center">
            <Logo />
            <Title order={1} size="h3" mt="xs">
              {title}
            </Title>
            {about && (
              <Text c="dimmed" size="sm">
                {about}
              </Text>
            )}
          </Stack>
          <Box className="card" p="lg">
            {children}
          </Box>
          <Text size="xs" c="dimmed" ta="center">
            One API gateway for many models, with prepaid credits.
          </Text>
        </Stack>
      </Center>
    </Box>
  );
}
