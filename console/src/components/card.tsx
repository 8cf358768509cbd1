import { Box, Group, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function Card({ title, about, action, children }: { title?: string; about?: string; action?: ReactNode; children: ReactNode }) {
  return (
    <Box className="card" p="md" component="section" aria-label={title}>
      {(title || action) && (
        <Group justify="space-between" mb="sm" align="flex-start">
          <div>
            <Title order={2} size="h5">
              {title}
            </Title>
            {about && (
              <Text size="sm" c="dimmed">
                {about}
              </Text>
            )}
          </div>
          {action}
        </Group>
      )}
      {children}
    </Box>
  );
}
