import { once } from "node:events";
import { createServer } from "node:net";
import { ConfigError } from "../../common/config.ts";

export interface Door {
  readonly variable: string;
  readonly host: string;
  readonly port: number;
}

/** Refuses with all taken ports at once. A child would find out too, but as a restart loop and without the variable's name. */
export async function refuseTakenPorts(doors: readonly Door[]): Promise<void> {
  const problems: string[] = [];
  for (const door of doors) {
    const problem = await tryDoor(door);
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

async function tryDoor({ variable, host, port }: Door): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return undefined;
  } catch (error) {
    return explain(error, { variable, host, port });
  }
}

function explain(error: unknown, { variable, host, port }: Door): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return `${variable}: port ${port} on ${host} is taken; stop what uses it or set ${variable} to another port`;
  if (code === "EACCES") return `${variable}: port ${port} needs more rights; set ${variable} to a port above 1023`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `HOST: ${host} is not an address of this machine`;
  return `${variable}: cannot listen on ${host} port ${port}: ${String(error)}`;
}
