import { useNavigate, useSearch } from "@tanstack/react-router";

/**
 * Filters that live in the address, so that a screen can be reloaded, bookmarked and sent to somebody. Numbers in the address come as
 * numbers; read texts with String().
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

/** Filters for a link to another screen. Routes come from a list, so the router's types know none of their filters. */
export const searchOf = (values: Readonly<Record<string, string>>) => values as never;
