import { useNavigate, useSearch } from "@tanstack/react-router";

/**
 * Filters in the URL, so that a screen can be reloaded, bookmarked and shared. The router parses numbers in the URL as numbers; read
 * strings with String().
 */
export function useAddress(): [Record<string, unknown>, (change: Record<string, string | number | undefined>) => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const change = (values: Record<string, string | number | undefined>) => {
    const merged = Object.entries({ ...search, ...values }).filter(([, value]) => value !== undefined && value !== "");
    void navigate({ to: ".", search: Object.fromEntries(merged), replace: true });
  };
  return [search, change];
}

/** Filters for a link to another screen. The cast is needed because routes come from a list, which the router cannot type. */
export const searchOf = (values: Readonly<Record<string, string>>) => values as never;
