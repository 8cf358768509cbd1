import { Group, Text } from "@mantine/core";

/** The Tributary logo. */
export function Logo() {
  return (
    <Group gap={8} wrap="nowrap">
      <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="#0b7285" />
        <path d="M7 6c0 7 6 6 9 11M25 6c0 7-6 6-9 11M16 4v13M16 17v11" fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
      </svg>
      <Text fw={700} size="lg" lts="-0.01em">
        Tributary
      </Text>
    </Group>
  );
}
