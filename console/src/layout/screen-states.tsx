import { Button, Center, Skeleton, Stack, Text, Title } from "@mantine/core";
import { Link, useRouter } from "@tanstack/react-router";
import { Failure } from "../components/failure.tsx";

/** Placeholder while a screen loads. */
export function ScreenWaiting() {
  return (
    <Stack aria-busy="true" aria-label="Loading" p="md">
      <Skeleton height={32} width={220} />
      <Skeleton height={120} />
      <Skeleton height={240} />
    </Stack>
  );
}

export function ScreenError({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <Center component="main" mih="60vh" p="md">
      <Stack maw={560} w="100%">
        <Title order={1} size="h2">
          This screen could not be loaded
        </Title>
        <Failure error={error} onRetry={() => void router.invalidate()} />
      </Stack>
    </Center>
  );
}

export function ScreenMissing() {
  return (
    <Center component="main" mih="60vh" p="md">
      <Stack align="center">
        <Title order={1} size="h2">
          Page not found
        </Title>
        <Text c="dimmed">Check the URL, or go to the overview.</Text>
        <Button component={Link} to="/">
          Go to the overview
        </Button>
      </Stack>
    </Center>
  );
}
