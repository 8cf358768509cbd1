import {
  IconBuilding,
  IconChartBar,
  IconCreditCard,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconListDetails,
  IconLogin,
  IconMessages,
  IconRocket,
  IconShieldCog,
  IconStack2,
  IconTopologyStar3,
  IconUsersGroup,
} from "@tabler/icons-react";
import type { ComponentType } from "react";
import type { MenuEntry } from "../layout/menu.ts";

/**
 * Every screen of the console. To add one:
 *   1. write `console/src/screens/<name>.tsx` that exports a component called `Screen` and begins with `<Page title="…">`;
 *   2. add one entry here: with `menu` it is in the menu and the command palette, without it it has only a URL;
 *   3. read data with `useQuery` and an entry of api/queries.ts, show errors with `<Failure error={…} />`, loading with skeletons,
 *      amounts with `<Usd amount={…Usd} />`, and put filters into the URL (`useAddress`);
 *   4. add its path to the table of test/browser/screens.ts, which checks it in both themes and two widths with axe.
 * A screen imports what only it needs (charts, virtual lists) itself, because each screen is its own chunk.
 */
export interface ScreenEntry {
  readonly path: string;
  readonly load: () => Promise<{ Screen: ComponentType }>;
  /** Reachable without a session and rendered without the shell. */
  readonly isPublic?: true;
  readonly menu?: MenuEntry;
}

export const screens: readonly ScreenEntry[] = [
  { path: "/login", load: () => import("./login.tsx"), isPublic: true },
  { path: "/signup", load: () => import("./signup.tsx"), isPublic: true },
  { path: "/invite", load: () => import("./invite.tsx"), isPublic: true },
  { path: "/forgot-password", load: () => import("./forgot-password.tsx"), isPublic: true },
  { path: "/reset-password", load: () => import("./reset-password.tsx"), isPublic: true },
  { path: "/verify-email", load: () => import("./verify-email.tsx") },
  { path: "/", load: () => import("./overview.tsx"), menu: { label: "Overview", icon: IconLayoutDashboard, group: "Start" } },
  {
    path: "/start",
    load: () => import("./getting-started.tsx"),
    menu: { label: "Getting started", icon: IconRocket, group: "Start" },
  },
  { path: "/keys", load: () => import("./keys.tsx"), menu: { label: "API keys", icon: IconKey, group: "Build" } },
  {
    path: "/model_hub_table",
    load: () => import("./model-hub.tsx"),
    isPublic: true,
    menu: { label: "Models", icon: IconStack2, group: "Build" },
  },
  { path: "/playground", load: () => import("./playground.tsx"), menu: { label: "Playground", icon: IconMessages, group: "Build" } },
  { path: "/usage", load: () => import("./usage.tsx"), menu: { label: "Usage", icon: IconChartBar, group: "Build" } },
  { path: "/logs", load: () => import("./logs.tsx"), menu: { label: "Logs", icon: IconListDetails, group: "Build" } },
  { path: "/session", load: () => import("./session.tsx") },
  { path: "/teams", load: () => import("./teams.tsx"), menu: { label: "Teams", icon: IconUsersGroup, group: "Manage" } },
  { path: "/teams/$teamId", load: () => import("./team.tsx") },
  { path: "/organization", load: () => import("./organization.tsx"), menu: { label: "Organization", icon: IconBuilding, group: "Manage" } },
  {
    path: "/audit",
    load: () => import("./audit.tsx"),
    menu: { label: "Audit log", icon: IconHistory, group: "Manage", ownerOnly: true },
  },
  { path: "/credits", load: () => import("./credits.tsx"), menu: { label: "Credits", icon: IconCreditCard, group: "Manage" } },
  { path: "/training", load: () => import("./training.tsx"), menu: { label: "Training", icon: IconTopologyStar3, group: "Training" } },
  { path: "/training/$federationId", load: () => import("./federation.tsx") },
  {
    path: "/account",
    load: () => import("./account.tsx"),
    menu: { label: "Account", icon: IconLogin, group: "Manage" },
  },
  { path: "/admin", load: () => import("./admin.tsx"), menu: { label: "Admin", icon: IconShieldCog, group: "Platform", adminOnly: true } },
];
