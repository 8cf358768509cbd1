import { once } from "node:events";
import { createServer } from "node:net";
import { ConfigError } from "../../common/config.ts";

export interface ListenAddress {
  readonly variable: string;
  readonly host: string;
  readonly port: number;
}

/** Fails with all taken ports at once. A child would fail too, but in a restart loop and without the name of the variable. */
export async function refuseTakenPorts(addresses: readonly ListenAddress[]): Promise<void> {
  const problems: string[] = [];
  for (const address of addresses) {
    const problem = await tryListen(address);
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

async function tryListen({ variable, host, port }: ListenAddress): Promise<string | undefined> {
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

function explain(error: unknown, { variable, host, port }: ListenAddress): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return `${variable}: port ${port} on ${host} is taken; stop what uses it or set ${variable} to another port`;
  if (code === "EACCES") return `${variable}: port ${port} needs root privileges; set ${variable} to a port above 1023`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `HOST: ${host} is not an address of this machine`;
  return `${variable}: cannot listen on ${host} port ${port}: ${String(error)}`;
}
