import type { CallResponse } from "./http-exchange.ts";

/** Headers, each name in lower case before its value: Node writes a list at half the cost of a header at a time. */
export type HeaderList = readonly string[];

/** The place of a name in a list; below zero if it has none. */
export function nameAt(list: HeaderList, name: string): number {
  for (let at = 0; at < list.length; at += 2) if (list[at] === name) return at;
  return -2;
}

export function valueIn(list: HeaderList, name: string): string | undefined {
  const at = nameAt(list, name);
  return at < 0 ? undefined : list[at + 1];
}

export function setHeaders(response: Pick<CallResponse, "setHeader">, list: HeaderList): void {
  for (let at = 0; at < list.length; at += 2) response.setHeader(list[at] as string, list[at + 1] as string);
}

export function headerFields(list: HeaderList): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at < list.length; at += 2) fields[list[at] as string] = list[at + 1] as string;
  return fields;
}
