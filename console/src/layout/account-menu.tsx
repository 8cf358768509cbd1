import { Avatar, Box, Menu, Text, UnstyledButton } from "@mantine/core";
import { IconLogout, IconUser } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ignore } from "../../../common/ignore.ts";
import { logOut, type Me } from "../api/session.ts";
import { clearLastSecret } from "../components/last-secret.ts";
import { hideSecret } from "../components/shown-secret.ts";
import { forgetViews } from "../screens/logs/saved-views.ts";
import { forgetChats } from "../screens/playground/stored-chats.ts";
import { OrganizationItems } from "./organization-switch.tsx";

/** The logged-in user and logout; on narrow windows also the organizations. */
export function AccountMenu({ me }: { me: Me }) {
  const { user, organization } = me;
  const [isOpened, setOpened] = useState(false);
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const leave = async () => {
    // The cookie is removed in any case; a session that has already expired is not an error.
    await ignore(logOut(), "the session may have ended already");
    queryClient.clear();
    clearLastSecret();
    hideSecret();
    forgetChats(localStorage);
    forgetViews(localStorage);
    await navigate({ to: "/login" });
  };
  return (
    <Menu position="bottom-end" width={260} opened={isOpened} onChange={setOpened}>
      <Menu.Target>
        <UnstyledButton aria-label={`${initials(user.name)}, account of ${user.name}`}>
          <Avatar radius="xl" size={34} color="river" variant="filled" name={user.name} aria-hidden>
            {initials(user.name)}
          </Avatar>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Text size="sm" fw={600} px="sm" pt={6} truncate>
          {user.name}
        </Text>
        <Text size="xs" c="dimmed" px="sm" pb={6} truncate>
          {user.email}
        </Text>
        <Menu.Divider />
        <Box hiddenFrom="md">
          <OrganizationItems activeId={organization?.id} isLoaded={isOpened} />
          <Menu.Divider />
        </Box>
        <Menu.Item component={Link} to="/account" leftSection={<IconUser size={16} aria-hidden />}>
          Account
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => void leave()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  return words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase())
    .join("");
}
