import { ActionIcon, AppShell, Burger, Button, Group, Kbd, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { spotlight } from "@mantine/spotlight";
import { IconBook, IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { ignore } from "../../../common/ignore.ts";
import { meQuery } from "../api/queries.ts";
import { refreshSession } from "../api/session.ts";
import { AccountMenu } from "./account-menu.tsx";
import { BlockedBanner } from "./blocked-banner.tsx";
import { CommandPalette } from "./command-palette.tsx";
import { HeaderBalance } from "./header-balance.tsx";
import { Logo } from "./logo.tsx";
import { OrganizationSwitch } from "./organization-switch.tsx";
import { SideMenu } from "./side-menu.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";
import { VerifyBanner } from "./verify-banner.tsx";

const REFRESH_EVERY_MS = 15 * 60_000;

/** The layout of every screen with a session, including public screens. */
export function Shell({ children }: { children?: ReactNode }) {
  const [menuOpen, menu] = useDisclosure(false);
  const { data: me } = useQuery(meQuery);
  const menuUser = me && { isAdmin: me.user.role === "admin", isOwner: me.organization?.role === "owner" };
  const { pathname } = useLocation();
  useSessionRefresh();
  useEffect(() => {
    if (pathname) menu.close();
  }, [pathname, menu.close]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 230, breakpoint: "sm", collapsed: { mobile: !menuOpen } }}
      padding={{ base: "sm", sm: "lg" }}
      styles={{ main: { background: "var(--ground)" } }}
    >
      <a href="#content" className="skip-link">
        Skip to content
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={menuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label={menuOpen ? "Close menu" : "Open menu"} />
            <Link to="/" style={{ color: "inherit", textDecoration: "none" }} aria-label="Tributary, overview">
              <Logo />
            </Link>
            {me?.organization && <OrganizationSwitch active={me.organization} />}
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Button
              variant="default"
              size="compact-md"
              fw={400}
              leftSection={<IconSearch size={15} aria-hidden />}
              rightSection={<Kbd size="xs">Ctrl K</Kbd>}
              onClick={spotlight.open}
              visibleFrom="sm"
            >
              <Text size="sm" c="dimmed">
                Search…
              </Text>
            </Button>
            <ActionIcon variant="default" size="lg" hiddenFrom="sm" onClick={spotlight.open} aria-label="Search">
              <IconSearch size={18} />
            </ActionIcon>
            <HeaderBalance />
            <ActionIcon component="a" href="/docs" variant="default" size="lg" aria-label="API documentation" visibleFrom="sm">
              <IconBook size={18} />
            </ActionIcon>
            <ThemeSwitch />
            {me && <AccountMenu me={me} />}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Main">
        {menuUser && <SideMenu user={menuUser} />}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <BlockedBanner />
        {me?.canVerifyEmail && <VerifyBanner email={me.user.email} />}
        {children ?? <Outlet />}
      </AppShell.Main>
      {menuUser && <CommandPalette user={menuUser} />}
    </AppShell>
  );
}

/** Renews the one-hour token while a tab is open, even in the background. If a renewal fails, the next API call reports it. */
function useSessionRefresh(): void {
  useEffect(() => {
    let last = Date.now();
    const renew = () => {
      if (Date.now() - last < REFRESH_EVERY_MS) return;
      last = Date.now();
      void ignore(refreshSession(), "the next call asks to log in");
    };
    const timer = setInterval(renew, 60_000);
    document.addEventListener("visibilitychange", renew);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", renew);
    };
  }, []);
}
