export interface Place {
  readonly what: string;
  readonly to: string;
  readonly search?: Record<string, string>;
}

/** Where a record is shown, by the prefix of its ID. */
const PLACES: Readonly<Record<string, (id: string) => Place>> = {
  call: (id) => ({ what: "Call in the logs", to: "/logs", search: { call: id } }),
  team: (id) => ({ what: "Team", to: `/teams/${id}` }),
  fed: (id) => ({ what: "Federation", to: `/training/${id}` }),
};

/** The screen of a record whose ID was typed or pasted; undefined for other texts. */
export function placeOfId(text: string): Place | undefined {
  const prefix = /^([a-z]{1,8})_[0-9a-z]{20,40}$/.exec(text)?.[1] ?? "";
  return Object.hasOwn(PLACES, prefix) ? PLACES[prefix]?.(text) : undefined;
}
