import type { Fields } from "../../upstream/providers/provider.ts";
import { asFields } from "../../upstream/providers/shared/json-fields.ts";

/** A document that a request names by its URL, and what to send to providers that fetch none. */
export interface DocumentUrl {
  readonly param: string;
  readonly instead: string;
}

/** The first document by URL of the Responses API's items. */
export function urlInItems(items: readonly unknown[]): DocumentUrl | undefined {
  const named = ({ type, file_url: url, file_data: data }: Fields) =>
    type === "input_file" && typeof url === "string" && data === undefined ? "file_url" : undefined;
  return firstOf(items, { at: "input", instead: "file_data", named });
}

/** The first document by URL of the Messages API's messages. */
export function urlInMessages(messages: readonly unknown[]): DocumentUrl | undefined {
  const named = ({ type, source }: Fields) => (type === "document" && asFields(source)["type"] === "url" ? "source.url" : undefined);
  return firstOf(messages, { at: "messages", instead: "a source of the type base64", named });
}

interface Search {
  readonly at: string;
  readonly instead: string;
  readonly named: (part: Fields) => string | undefined;
}

function firstOf(value: unknown, search: Search): DocumentUrl | undefined {
  const { at, named, instead } = search;
  for (const [index, item] of Array.isArray(value) ? value.entries() : []) {
    const part = asFields(item);
    const name = named(part);
    if (name !== undefined) return { param: `${at}[${index}].${name}`, instead };
    for (const inner of ["content", "output"]) {
      const found = firstOf(part[inner], { ...search, at: `${at}[${index}].${inner}` });
      if (found) return found;
    }
  }
  return undefined;
}
