import type { TablerIcon } from "@tabler/icons-react";
import { createContext, useContext } from "react";

export const MENU_GROUPS = ["Start", "Build", "Manage", "Training", "Platform"] as const;

export interface MenuEntry {
  readonly label: string;
  readonly icon: TablerIcon;
  readonly group: (typeof MENU_GROUPS)[number];
  readonly adminOnly?: true;
  /** For owners of the active organization. */
  readonly ownerOnly?: true;
}

/** What decides which entries a user sees. */
export interface MenuUser {
  readonly isAdmin: boolean;
  readonly isOwner: boolean;
}

/** Provided by the router, because the shell must not import the screens it contains. */
export const MenuContext = createContext<readonly (MenuEntry & { readonly path: string })[]>([]);

/** Menu entries that the user may open. */
export function useMenu({ isAdmin, isOwner }: MenuUser): readonly (MenuEntry & { readonly path: string })[] {
  return useContext(MenuContext).filter(({ adminOnly, ownerOnly }) => (isAdmin || !adminOnly) && (isOwner || !ownerOnly));
}
