import { NavLink, Stack, Text } from "@mantine/core";
import { Link, useLocation } from "@tanstack/react-router";
import { MENU_GROUPS, type MenuUser, useMenu } from "./menu.ts";

export function SideMenu({ user }: { user: MenuUser }) {
  const { pathname } = useLocation();
  const shown = useMenu(user);
  return (
    <Stack gap="md" component="div">
      {MENU_GROUPS.filter((group) => shown.some((entry) => entry.group === group)).map((group) => (
        <div key={group}>
          <Text size="xs" c="dimmed" fw={600} px="xs" mb={4}>
            {group}
          </Text>
          {shown
            .filter((entry) => entry.group === group)
            .map(({ path, label, icon: Icon }) => {
              const isActive = path === "/" ? pathname === "/" : pathname.startsWith(path);
              return (
                <NavLink
                  key={path}
                  component={Link}
                  to={path}
                  label={label}
                  leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
                  active={isActive}
                  aria-current={isActive ? "page" : undefined}
                  variant="light"
                  styles={{ root: { borderRadius: "var(--mantine-radius-md)" } }}
                  py={6}
                />
              );
            })}
        </div>
      ))}
    </Stack>
  );
}
