import { Anchor, Button, Skeleton, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ApiError } from "../api/client.ts";
import { invitationsQuery, meQuery } from "../api/queries.ts";
import { acceptInvitation, logOut, type Me } from "../api/session.ts";
import type { Invitation } from "../api/types.ts";
import { Failure } from "../components/failure.tsx";
import { clearLastSecret } from "../components/last-secret.ts";
import { searchOf } from "../components/use-address.ts";
import { formatTime } from "../format/text.ts";
import { AuthPage } from "../layout/auth-page.tsx";
import { ScreenWaiting } from "../layout/screen-states.tsx";

interface LinkParts {
  token: string;
  email?: string;
}

/** The target of an invitation link: `?token=` is the invitation's token, `?email=` the invited email. */
export function Screen() {
  const { token, email } = useSearch({ strict: false }) as { token?: unknown; email?: unknown };
  const { data: me, error, isPending } = useQuery({ ...meQuery, retry: false });
  if (token === undefined) {
    return (
      <AuthPage title="This link is incomplete">
        <Text>Open the complete invitation link again, or ask for a new one.</Text>
      </AuthPage>
    );
  }
  const link = { token: String(token), ...(typeof email === "string" ? { email } : {}) };
  if (isPending) return <ScreenWaiting />;
  if (me) return <ForAccount link={link} me={me} />;
  if (error instanceof ApiError && error.status === 401) return <ForVisitor link={link} />;
  return (
    <AuthPage title="Join your team">
      <Failure error={error} />
    </AuthPage>
  );
}

function ForVisitor({ link }: { link: LinkParts }) {
  const address = link.email === undefined ? "Your email" : link.email;
  return (
    <AuthPage title="Join your team" about={`${address} is invited to a team. Only an account with that email can accept the invitation.`}>
      <Stack>
        <Button component={Link} to="/signup" search={searchOf({ ...link })}>
          Sign up
        </Button>
        <Button component={Link} to="/login" search={logInSearch(link)} variant="default">
          Log in
        </Button>
      </Stack>
    </AuthPage>
  );
}

function ForAccount({ link, me }: { link: LinkParts; me: Me }) {
  const { data, error } = useQuery(invitationsQuery);
  // A token starts with the ID of its invitation.
  const invitation = data?.data.find(({ id }) => id === link.token.split(".")[0]);
  if (invitation) return <Accept link={link} invitation={invitation} />;
  return (
    <AuthPage title="Join your team">
      <Failure error={error} />
      {!data && !error && <Skeleton height={96} />}
      {data && <NotForAccount link={link} me={me} />}
    </AuthPage>
  );
}

function Accept({ link, invitation }: { link: LinkParts; invitation: Invitation }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { teamId, teamName, organizationName, email, role, expiresAt } = invitation;
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => acceptInvitation(link.token),
    onSuccess: async () => {
      // All cached data belongs to the previously active organization.
      queryClient.clear();
      await navigate({ to: `/teams/${teamId}` });
    },
  });
  return (
    <AuthPage title={`Join ${teamName}`} about={`${organizationName} invites ${email} to its team ${teamName}.`}>
      <Stack>
        <Failure error={error} />
        <Text size="sm">
          Role: {role}. The invitation expires {formatTime(expiresAt)}. {organizationName} becomes the active organization; you can switch
          back in the account menu.
        </Text>
        <Button onClick={() => mutate()} loading={isPending}>
          Accept invitation
        </Button>
        <Text size="sm" ta="center">
          <Anchor component={Link} to="/" inherit>
            Not now
          </Anchor>
        </Text>
      </Stack>
    </AuthPage>
  );
}

function NotForAccount({ link, me }: { link: LinkParts; me: Me }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: logOut,
    onSuccess: async () => {
      queryClient.clear();
      clearLastSecret();
      await navigate({ to: "/login", search: logInSearch(link) });
    },
  });
  return (
    <Stack>
      <Failure error={error} />
      <Text size="sm">
        You are logged in as {me.user.email}. The invitation is not for this account, was already used, was replaced by a newer link, or has
        expired.
      </Text>
      <Button onClick={() => mutate()} loading={isPending} variant="default">
        Log in with another account
      </Button>
      <Button component={Link} to="/" variant="subtle">
        Go to the overview
      </Button>
    </Stack>
  );
}

function logInSearch(link: LinkParts) {
  const next = `/invite?${new URLSearchParams({ ...link })}`;
  return searchOf({ ...(link.email === undefined ? {} : { email: link.email }), next });
}
