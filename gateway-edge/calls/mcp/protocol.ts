/** The version that the gateway asks servers for, and answers clients with that know none of its versions. */
export const PROTOCOL_VERSION = "2025-11-25";
export const PROTOCOL_VERSIONS: readonly string[] = [PROTOCOL_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

/** Names of servers have no underscore, so that the first separator ends the name of the server. */
const SEPARATOR = "__";

export const toolName = (server: string, tool: string): string => `${server}${SEPARATOR}${tool}`;

/** The server and the tool that a name stands for. */
export function splitToolName(name: string): { server: string; tool: string } | undefined {
  const at = name.indexOf(SEPARATOR);
  return at < 0 ? undefined : { server: name.slice(0, at), tool: name.slice(at + SEPARATOR.length) };
}
