/** A filter of the log under a name that a person chose. */
export interface SavedView {
  readonly name: string;
  readonly address: Readonly<Record<string, string>>;
}

const VIEWS_MAX = 30;
export const NAME_MAX = 60;

/** What of an address is a filter or an order. */
export const FILTER_NAMES = [
  "range",
  "from",
  "to",
  "tz",
  "apiKey",
  "team",
  "model",
  "provider",
  "status",
  "search",
  "endUser",
  "tag",
  "sort",
] as const;

const STORED = "logs.views";

/** The name under which this browser stores the views of a user. */
export const viewsName = (owner: number): string => `${STORED}:${owner}`;

/** At log-out, so that the next user of this browser does not find what was searched for. Views without an owner are of an older version. */
export function forgetViews(storage: Storage): void {
  for (const name of Object.keys(storage).filter((key) => key === STORED || key.startsWith(`${STORED}:`))) storage.removeItem(name);
}

/** Reads what this browser stored; anything else than views is left out. */
export function readViews(stored: unknown): readonly SavedView[] {
  if (!Array.isArray(stored)) return [];
  return stored.filter(isView).slice(0, VIEWS_MAX);
}

/** Adds the filter of an address; a view of the same name is replaced. */
export function withView(views: readonly SavedView[], name: string, address: Readonly<Record<string, unknown>>): readonly SavedView[] {
  const set = FILTER_NAMES.flatMap((field) => (address[field] === undefined ? [] : [[field, String(address[field])] as const]));
  const view = { name: name.trim().slice(0, NAME_MAX), address: Object.fromEntries(set) };
  return [view, ...views.filter((other) => other.name !== view.name)].slice(0, VIEWS_MAX);
}

/** The change of the address that shows a view: filters that it does not have are cleared. */
export function addressOf({ address }: SavedView): Record<string, string | undefined> {
  return Object.fromEntries(FILTER_NAMES.map((name) => [name, address[name]]));
}

function isView(value: unknown): value is SavedView {
  const { name, address } = (value ?? {}) as Partial<SavedView>;
  return typeof name === "string" && typeof address === "object" && Object.values(address ?? {}).every((text) => typeof text === "string");
}
