import { Alert, Button, Divider } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { oidcQuery } from "../api/queries.ts";

/** "Continue with …" for each configured issuer of OpenID Connect; nothing without one. `next` is a path of the console. */
export function OidcButtons({ next }: { next: string | undefined }) {
  const { data } = useQuery(oidcQuery);
  if (!data || data.data.length === 0) return null;
  const query = next === undefined ? "" : `?${new URLSearchParams({ next })}`;
  return (
    <>
      <Divider label="or" labelPosition="center" />
      {data.data.map(({ id, name }) => (
        <Button key={id} component="a" href={`/api/auth/oidc/${encodeURIComponent(id)}${query}`} variant="default" fullWidth>
          Continue with {name}
        </Button>
      ))}
    </>
  );
}

/** The texts of control-plane/oidc/issuer.ts' refusals. The URL names only the reason, so that a link cannot show another text here. */
const REFUSALS: Readonly<Record<string, string>> = {
  denied: "The sign-in was canceled. No session was opened.",
  expired: "The sign-in took too long, was used already or was started in another browser. Start it again.",
  unavailable: "The sign-in provider cannot be reached. Try again later, or log in with your password.",
  invalid: "The sign-in provider's answer is not valid. Try again; if it happens again, tell your administrator.",
  unverified: "The sign-in provider does not confirm your email. Verify it there, then try again.",
  unlinked:
    "An account with your email exists, but that email is not verified here. Log in with its password (or reset it) and verify the email, then try again.",
  disabled: "This account is disabled. Ask a platform administrator to enable it.",
  limited: "Too many sign-ins from your network. Try again in an hour, or log in with your password.",
};

export function OidcRefusal({ reason }: { reason: unknown }) {
  const text = typeof reason === "string" && Object.hasOwn(REFUSALS, reason) ? REFUSALS[reason] : undefined;
  if (text === undefined) return null;
  return (
    <Alert color="red" variant="light" role="alert" styles={{ message: { color: "var(--mantine-color-text)" } }}>
      {text}
    </Alert>
  );
}
