import type { Fields } from "../../../upstream/providers/provider.ts";

/** Calls an edge with JSON and a key; a single call can use another key. */
export function jsonCaller(url: string, secret: string) {
  return async (method: string, path: string, body?: unknown, key = secret) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return { status: response.status, text, headers: response.headers, json: isJson ? (JSON.parse(text) as Fields) : {} };
  };
}
