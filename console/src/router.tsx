import type { QueryClient } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from "@tanstack/react-router";
import { ApiError } from "./api/client.ts";
import { meQuery } from "./api/queries.ts";
import { MenuContext } from "./layout/menu.ts";
import { ScreenError, ScreenMissing, ScreenWaiting } from "./layout/screen-states.tsx";
import { SecretHost } from "./layout/secret-host.tsx";
import { Shell } from "./layout/shell.tsx";
import { screens } from "./screens/index.ts";

/** Makes every screen a route; screens that are not public require a session and are inside the shell. */
export function createConsoleRouter(queryClient: QueryClient) {
  const menu = screens.flatMap(({ path, menu: entry }) => (entry ? [{ path, ...entry }] : []));
  const root = createRootRoute({
    component: () => (
      <MenuContext value={menu}>
        <Outlet />
        <SecretHost />
      </MenuContext>
    ),
    notFoundComponent: ScreenMissing,
  });
  const inside = createRoute({
    getParentRoute: () => root,
    id: "inside",
    component: () => <Shell />,
    beforeLoad: async ({ location }) => {
      try {
        await queryClient.ensureQueryData(meQuery);
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) throw redirect({ to: "/login", search: nextOf(location.href) });
        throw error;
      }
    },
  });
  const routeOf = ({ path, load }: (typeof screens)[number], parent: typeof root | typeof inside) =>
    createRoute({
      getParentRoute: () => parent as typeof root,
      path,
      component: lazyRouteComponent(load, "Screen"),
    });
  const tree = root.addChildren([
    inside.addChildren(screens.filter((screen) => !screen.isPublic).map((screen) => routeOf(screen, inside))),
    ...screens.filter((screen) => screen.isPublic).map((screen) => routeOf(screen, root)),
  ]);
  return createRouter({
    routeTree: tree,
    basepath: "/ui",
    defaultPreload: "intent",
    scrollRestoration: true,
    defaultPendingMs: 200,
    defaultPendingComponent: ScreenWaiting,
    defaultErrorComponent: ScreenError,
    defaultNotFoundComponent: ScreenMissing,
  });
}

function nextOf(href: string): { next?: string } {
  const path = href.replace(/^\/ui/, "");
  return path === "" || path === "/" ? {} : { next: path };
}
