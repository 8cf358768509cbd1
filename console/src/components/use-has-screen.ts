import { useRouter } from "@tanstack/react-router";

/** Whether this console has a screen at a path, so that links to missing screens are not shown. */
export function useHasScreen(path: string): boolean {
  const { routesByPath } = useRouter();
  return Object.hasOwn(routesByPath, path);
}
