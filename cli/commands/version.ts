import type { Command } from "commander";
import { VERSION } from "../../common/version.ts";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";
import { onAction } from "../operations/register.ts";
import { valueAt } from "../output/values.ts";

export function registerVersion(program: Command, io: Io): void {
  onAction(program.command("version").description("Show the versions of gw, Node.js and the server API"), io, version);
}

async function version(context: Context): Promise<void> {
  const server = await serverVersion(context);
  context.print.answer(
    { client: VERSION, node: process.versions.node, server },
    {
      kind: "record",
      fields: [
        { title: "gw", at: "client" },
        { title: "node", at: "node" },
        { title: "server", at: "server.title" },
        { title: "API version", at: "server.version" },
        { title: "address", at: "server.url" },
      ],
      id: "client",
    },
  );
}

/** If the server is unreachable, the client version is still printed. */
async function serverVersion({ client, settings }: Context): Promise<unknown> {
  try {
    const { body } = await client.send({ method: "GET", path: "/openapi.json", auth: "none" });
    return { title: valueAt(body, "info.title"), version: valueAt(body, "info.version"), url: settings.apiUrl.value };
  } catch (error) {
    return { title: null, version: null, url: settings.apiUrl.value, error: error instanceof CliError ? error.facts.error : String(error) };
  }
}
