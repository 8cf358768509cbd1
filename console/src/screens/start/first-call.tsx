import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { Failure } from "../../components/failure.tsx";

interface Answer {
  choices: { message: { content: string } }[];
  usage: { total_tokens: number };
}

/** Runs the example call from this page with the real key. */
export function FirstCall({ secret }: { secret: string }) {
  const queryClient = useQueryClient();
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () =>
      call<Answer>("POST", "/v1/chat/completions", {
        body: { model: "echo", messages: [{ role: "user", content: "hello river" }] },
        headers: { authorization: `Bearer ${secret}` },
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["logs"] }),
  });
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="light" loading={isPending} onClick={() => mutate()}>
          Run this call
        </Button>
        {data && (
          <Text size="sm" role="status">
            Response: “{data.choices[0]?.message.content}” ({data.usage.total_tokens} tokens)
          </Text>
        )}
      </Group>
      <Failure error={error} />
    </Stack>
  );
}
