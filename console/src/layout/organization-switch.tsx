import { Button, Menu, Text, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconChevronDown, IconSettings } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../api/client.ts";
import { organizationsQuery } from "../api/queries.ts";
import { notifyFailure } from "../components/failure.tsx";

interface Active {
  readonly id: string;
  readonly name: string;
}

/** The active organization in the header; its menu switches to another one. Narrow windows have it in the account menu. */
export function OrganizationSwitch({ active }: { active: Active }) {
  const [isOpened, setOpened] = useState(false);
  return (
    <Menu position="bottom-start" width={260} opened={isOpened} onChange={setOpened}>
      <Menu.Target>
        <Button
          variant="default"
          size="compact-md"
          fw={400}
          maw={240}
          visibleFrom="md"
          rightSection={<IconChevronDown size={14} aria-hidden />}
          aria-label={`Organization ${active.name}`}
        >
          <Text size="sm" truncate>
            {active.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <OrganizationItems activeId={active.id} isLoaded={isOpened} />
        <Menu.Divider />
        <Menu.Item component={Link} to="/organization" leftSection={<IconSettings size={16} aria-hidden />}>
          Organization settings
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The organizations of the user as entries of a menu. They are loaded when it opens, not with every page. */
export function OrganizationItems({ activeId, isLoaded }: { activeId: string | undefined; isLoaded: boolean }) {
  const { data: organizations } = useQuery({ ...organizationsQuery, enabled: isLoaded });
  const queryClient = useQueryClient();
  const navigate = useNavigate();
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
  return organizations?.data.map(({ id, name }) => (
    <Menu.Item
      key={id}
      onClick={() => void choose(id)}
      leftSection={<IconCheck size={16} style={{ visibility: id === activeId ? "visible" : "hidden" }} aria-hidden />}
    >
      <Text size="sm" truncate>
        {name}
        {id === activeId && <VisuallyHidden> (active)</VisuallyHidden>}
      </Text>
    </Menu.Item>
  ));
}
