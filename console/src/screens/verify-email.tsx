import { Button, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { post } from "../api/client.ts";
import { meQuery } from "../api/queries.ts";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";

/** The target of the link in a verification mail. It needs a session: only the user of the account can verify its address. */
export function Screen() {
  const { token } = useSearch({ strict: false }) as { token?: unknown };
  const queryClient = useQueryClient();
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () => post("/api/auth/verify-email", { token: String(token) }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: meQuery.queryKey }),
  });
  return (
    <Page title="Verify email">
      <Stack align="flex-start" role="status">
        <Failure error={error} />
        {isSuccess && <Text>Your email is verified.</Text>}
        {token === undefined && <Text>This link is incomplete. Open the link in the email again.</Text>}
        {token !== undefined && !isSuccess && (
          <Button onClick={() => mutate()} loading={isPending}>
            Verify my email
          </Button>
        )}
        {isSuccess && (
          <Button component={Link} to="/">
            Go to the overview
          </Button>
        )}
      </Stack>
    </Page>
  );
}
