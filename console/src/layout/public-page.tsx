import { Box, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { meQuery } from "../api/queries.ts";
import { Logo } from "./logo.tsx";
import { ScreenWaiting } from "./screen-states.tsx";
import { Shell } from "./shell.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";

/** The layout of public screens: the shell with a session, a header with login and sign-up without one. */
export function PublicPage({ children }: { children: ReactNode }) {
  const { data: me, isPending } = useQuery({ ...meQuery, retry: false });
  if (isPending) return <ScreenWaiting />;
  if (me) return <Shell>{children}</Shell>;
  return (
    <Box mih="100vh" style={{ background: "var(--ground)" }}>
      <Group component="header" justify="space-between" h={56} px="md" className="card" style={{ borderWidth: "0 0 1px", borderRadius: 0 }}>
        <Link to="/" style={{ color: "inherit", textDecoration: "none" }} aria-label="Tributary, overview">
          <Logo />
        </Link>
        <Group gap="xs" wrap="nowrap">
          <ThemeSwitch />
          <Button component={Link} to="/login" variant="default" size="compact-md">
            Log in
          </Button>
          <Button component={Link} to="/signup" size="compact-md" visibleFrom="xs">
            Sign up
          </Button>
        </Group>
      </Group>
      <Box component="main" p={{ base: "sm", sm: "lg" }}>
        {children}
      </Box>
    </Box>
  );
}
