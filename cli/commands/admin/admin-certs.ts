import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { PEER_NAME, type Peer, ROLES } from "../../../common/peers/peer.ts";
import { type Authority, createAuthority, type Issued, openAuthority } from "../../certs/issue.ts";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import type { Options } from "../../operations/read-values.ts";
import { onAction } from "../../operations/register.ts";
import type { View } from "../../output/printer.ts";

/** Certificates are also valid for processes on one machine. */
const OWN_HOSTS = ["localhost", "127.0.0.1", "::1"];
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const DAYS_MAX = 3650;

const view: View = {
  kind: "list",
  columns: [
    { title: "folder", at: "folder" },
    { title: "role", at: "role" },
    { title: "name", at: "name" },
    { title: "expires", at: "expiresAt", as: "time" },
  ],
  id: "folder",
  paged: false,
};

export function registerAdminCerts(admin: Command, io: Io): void {
  const command = admin
    .command("certs")
    .description("Make certificates for the processes of one installation, in one folder each: for development and small installations")
    .requiredOption("--out <folder>", "folder to create them in")
    .option("--hosts <names>", "host names and IP addresses of control planes, coordinators and trainers, separated by commas")
    .option("--edges <names>", "names of edges with a certificate of their own, separated by commas")
    .option("--days <n>", "validity in days", "365")
    .option("--add", "use the authority in the folder and make only what is missing")
    .option("--force", "replace the authority and all certificates in the folder");
  onAction(command, io, certs);
}

async function certs(context: Context, _words: readonly string[], options: Options): Promise<void> {
  const { out, hosts, edges, days, add, force } = readOptions(options);
  const nowMs = context.io.nowMs();
  const peers = peersOf(edges);
  const isThere = (name: string) => existsSync(join(out, name));
  const wanted = add ? [...peers].filter(([name]) => !isThere(name)) : [...peers];
  const taken = ["ca", ...peers.keys()].filter(isThere);
  if (taken.length > 0 && !force && !add) {
    throw usageError(
      `${out} already has ${taken.join(", ")}. Nothing was changed.`,
      "Use --add to make what is missing with the same authority, or --force to replace everything.",
    );
  }
  const authority = await authorityIn(join(out, "ca"), { isAdded: add, nowMs });
  const made: object[] = [];
  for (const [name, peer] of wanted) {
    const folder = join(out, name);
    write(folder, await authority.issue(peer, { hosts: [...OWN_HOSTS, ...hosts], days }));
    writeFileSync(join(folder, "ca.pem"), authority.cert);
    made.push({ folder, ...peer, expiresAt: new Date(nowMs + days * 86_400_000).toISOString() });
  }
  context.print.answer({ data: made }, view);
  context.print.note(`Keep ${join(out, "ca", "key.pem")} secret: a process that has it can join this installation.`);
}

function readOptions(options: Options) {
  const list = (value: unknown) =>
    String(value ?? "")
      .split(",")
      .map((part) => part.trim().toLowerCase())
      .filter((part) => part !== "");
  const [hosts, edges, days] = [list(options["hosts"]), list(options["edges"]), Number(options["days"])];
  const badHost = hosts.find((host) => isIP(host) === 0 && !host.split(".").every((label) => LABEL.test(label)));
  if (badHost !== undefined)
    throw usageError(`--hosts: ${badHost} is neither a host name nor an IP address.`, "Leave out http:// and the port.");
  const badEdge = edges.find((edge) => !PEER_NAME.test(edge) || ROLES.some((role) => role === edge) || edge === "ca");
  if (badEdge !== undefined)
    throw usageError(`--edges: ${badEdge} cannot be the name of an edge.`, "Use letters, digits, hyphens and dots, such as edge-1.");
  if (!Number.isInteger(days) || days < 1 || days > DAYS_MAX) throw usageError(`--days: must be 1 to ${DAYS_MAX}.`);
  if (options["add"] && options["force"]) throw usageError("Use --add or --force, not both.");
  const flags = { add: options["add"] === true, force: options["force"] === true };
  return { out: resolve(String(options["out"])), hosts, edges, days, ...flags };
}

/** Sub-folders by name, with what their certificates say. */
function peersOf(edges: readonly string[]): ReadonlyMap<string, Peer> {
  const roles = ROLES.map((role): [string, Peer] => [role, { role, name: role }]);
  return new Map([...roles, ...edges.map((name): [string, Peer] => [name, { role: "edge", name }])]);
}

async function authorityIn(folder: string, { isAdded, nowMs }: { isAdded: boolean; nowMs: number }): Promise<Authority> {
  if (isAdded && existsSync(join(folder, "key.pem"))) {
    const read = (name: string) => readFileSync(join(folder, name), "utf8");
    return openAuthority({ cert: read("cert.pem"), key: read("key.pem") }, nowMs);
  }
  const authority = await createAuthority(nowMs);
  write(folder, authority);
  return authority;
}

function write(folder: string, { cert, key }: Issued): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "cert.pem"), cert);
  const path = join(folder, "key.pem");
  writeFileSync(path, key, { mode: 0o600 });
  // The mode above counts for new files only.
  chmodSync(path, 0o600);
}
