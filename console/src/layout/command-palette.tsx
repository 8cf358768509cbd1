import { useMantineColorScheme } from "@mantine/core";
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { IconBook, IconKey, IconMoon, IconSun, IconUserPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { keysQuery, teamsQuery } from "../api/queries.ts";
import { type MenuUser, useMenu } from "./menu.ts";
import { placeOfId } from "./place-of-id.ts";

/** Ctrl+K: navigation to screens, teams, keys and records by their ID, and common actions. */
export function CommandPalette({ user }: { user: MenuUser }) {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  // Names are loaded when the palette opens for the first time, not with every page.
  const [wasOpened, setOpened] = useState(false);
  const [typed, setTyped] = useState("");
  const { data: teams } = useQuery({ ...teamsQuery(), enabled: wasOpened });
  const { data: keys } = useQuery({ ...keysQuery(), enabled: wasOpened });
  const goTo =
    (to: string, search: Record<string, string> = {}) =>
    () =>
      void navigate({ to, search });
  const pages: SpotlightActionData[] = useMenu(user).map(({ path, label, group, icon: Icon }) => ({
    id: path,
    label,
    description: group,
    leftSection: <Icon size={18} />,
    onClick: goTo(path),
  }));
  const actions: SpotlightActionData[] = [
    { id: "new-key", label: "Create API key", leftSection: <IconKey size={18} />, onClick: goTo("/keys", { new: "key" }) },
    { id: "invite", label: "Invite member", leftSection: <IconUserPlus size={18} />, onClick: goTo("/teams") },
    { id: "dark", label: "Use dark theme", leftSection: <IconMoon size={18} />, onClick: () => setColorScheme("dark") },
    { id: "light", label: "Use light theme", leftSection: <IconSun size={18} />, onClick: () => setColorScheme("light") },
    { id: "docs", label: "API documentation", leftSection: <IconBook size={18} />, onClick: () => window.location.assign("/docs") },
  ];
  const names: SpotlightActionData[] = [
    ...(teams?.data ?? []).map(({ id, name }) => ({ id, label: name, description: "Team", onClick: goTo(`/teams/${id}`) })),
    ...(keys?.data ?? []).map(({ id, name, maskedKey }) => ({
      id,
      label: name,
      description: `Key ${maskedKey}`,
      onClick: goTo("/keys", { search: name }),
    })),
  ];
  const place = placeOfId(typed.trim());
  const records: SpotlightActionData[] = place
    ? [{ id: "record", label: typed.trim(), description: place.what, onClick: goTo(place.to, place.search) }]
    : [];
  return (
    <Spotlight
      query={typed}
      onQueryChange={setTyped}
      onSpotlightOpen={() => setOpened(true)}
      actions={[
        { group: "Open", actions: records },
        { group: "Go to", actions: pages },
        { group: "Actions", actions: actions },
        { group: "Teams and keys", actions: names },
      ]}
      shortcut={["mod + K", "/"]}
      nothingFound="No results."
      limit={12}
      highlightQuery
      scrollable
      maxHeight={420}
      searchProps={{ placeholder: "Search screens, teams and keys, or paste an ID…", "aria-label": "Search" }}
    />
  );
}
