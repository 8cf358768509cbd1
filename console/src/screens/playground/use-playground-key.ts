import { useCallback, useEffect, useRef } from "react";
import { ignore, orElse } from "../../../../common/ignore.ts";
import { post } from "../../api/client.ts";
import type { ApiKey } from "../../api/types.ts";

const LIFE_MS = 60 * 60_000;
const SPARE_MS = 60_000;
const EXPIRES = "the key expires by itself";

interface ShortKey {
  readonly id: string;
  readonly secret: string;
  readonly teamId: string;
  readonly endsAt: number;
}

/**
 * A key of one team that expires in one hour and is held in this page only. It is created with the first message and revoked when the user
 * leaves the screen; if the tab is closed, the key expires.
 */
export function usePlaygroundKey(): (teamId: string) => Promise<string> {
  const shortKey = useRef<Promise<ShortKey>>(undefined);
  useEffect(
    () => () => {
      void ignore(shortKey.current?.then(remove), EXPIRES);
      shortKey.current = undefined;
    },
    [],
  );
  return useCallback(async (teamId) => {
    const known = shortKey.current && (await orElse(shortKey.current, undefined, "there is no key to remove"));
    if (known && known.teamId === teamId && known.endsAt - Date.now() > SPARE_MS) return known.secret;
    if (known) void ignore(remove(known), EXPIRES);
    shortKey.current = make(teamId);
    return (await shortKey.current).secret;
  }, []);
}

async function make(teamId: string): Promise<ShortKey> {
  const endsAt = Date.now() + LIFE_MS;
  const body = { name: "playground", team_id: teamId, expiresAt: new Date(endsAt).toISOString() };
  const { apiKey, key } = await post<{ apiKey: ApiKey; key: string }>("/api/gw/api-keys", body);
  return { id: apiKey.id, secret: key, teamId, endsAt };
}

const remove = ({ id }: ShortKey): Promise<unknown> => post("/api/api-keys/remove", { apiKey: id });
