import { useRouter } from "@tanstack/react-router";

/** Whether this console has a screen at a path: links to others are drawn only where they lead somewhere. */
export function useHasScreen(path: string): boolean {
  const { routesByPath } = useRouter();
  return Object.hasOwn(routesByPath, path);
}
