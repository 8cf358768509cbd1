import type { TablerIcon } from "@tabler/icons-react";
import { createContext, useContext } from "react";

export const MENU_GROUPS = ["Start", "Build", "Manage", "Training", "Platform"] as const;

export interface MenuEntry {
  readonly label: string;
  readonly icon: TablerIcon;
  readonly group: (typeof MENU_GROUPS)[number];
  readonly adminOnly?: true;
}

/** Handed in by the router: the frame must not import the screens that stand in it. */
export const MenuContext = createContext<readonly (MenuEntry & { readonly path: string })[]>([]);

/** What this person may open. */
export function useMenu(isAdmin: boolean): readonly (MenuEntry & { readonly path: string })[] {
  return useContext(MenuContext).filter(({ adminOnly }) => isAdmin || !adminOnly);
}
