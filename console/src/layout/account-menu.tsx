import { Avatar, Menu, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconLogout, IconUser } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ignore } from "../../../common/ignore.ts";
import { call } from "../api/client.ts";
import { organizationsQuery } from "../api/queries.ts";
import { logOut, type Me } from "../api/session.ts";
import { notifyFailure } from "../components/failure.tsx";
import { clearLastSecret } from "../components/last-secret.ts";
import { hideSecret } from "../components/shown-secret.ts";
import { forgetViews } from "../screens/logs/saved-views.ts";
import { forgetChats } from "../screens/playground/stored-chats.ts";

/** The logged-in user, the active organization, and logout. */
export function AccountMenu({ me }: { me: Me }) {
  const { user, organization } = me;
  const [isOpened, setOpened] = useState(false);
  const { data: organizations } = useQuery({ ...organizationsQuery, enabled: isOpened });
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
  const choose = async (id: string) => {
    try {
      await call("PUT", "/api/gw/organizations", { body: { id, active: true } });
      // All cached data belongs to the previous organization.
      await queryClient.invalidateQueries();
      await navigate({ to: "/" });
    } catch (error) {
      notifyFailure(error);
    }
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
        {organizations?.data.map(({ id, name }) => (
          <Menu.Item
            key={id}
            onClick={() => void choose(id)}
            leftSection={<IconCheck size={16} style={{ visibility: id === organization?.id ? "visible" : "hidden" }} aria-hidden />}
          >
            <Text size="sm" truncate>
              {name}
              {id === organization?.id && <VisuallyHidden> (active)</VisuallyHidden>}
            </Text>
          </Menu.Item>
        ))}
        <Menu.Divider />
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
