import { hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ignore } from "../common/ignore.ts";
import { operatorFetch } from "../common/operator-fetch.ts";
import { CAPABILITIES_HEADER, type Capability } from "../common/training/capabilities.ts";

/** What a node was given to join with. */
export interface JoinGrant {
  /** The gateway's URL. */
  readonly url: string;
  /** The join token of a place, or the join link of an open federation. */
  readonly joinToken: string;
  /** Folder that keeps the tokens of places which join links gave. */
  readonly tokenFolder: string;
  /** Tells the nodes of one folder apart. */
  readonly name: string;
  readonly capabilities: readonly Capability[];
}

const LEAVE_MS = 2000;

/** The join token of this node's own place. A join link gives a place once; after a restart the node has the same. */
export async function ownToken(grant: JoinGrant, signal: AbortSignal): Promise<string> {
  const file = fileOf(grant);
  if (existsSync(file)) return readFileSync(file, "utf8");
  const { url, joinToken, capabilities } = grant;
  const headers = { authorization: `Bearer ${joinToken}`, [CAPABILITIES_HEADER]: capabilities.join(",") };
  const answer = await operatorFetch(`${url}/training/join`, { method: "POST", headers, signal });
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  const { token } = (await answer.json()) as { token: string };
  if (token === joinToken) return token;
  mkdirSync(grant.tokenFolder, { recursive: true });
  writeFileSync(file, token, { mode: 0o600 });
  return token;
}

/** Gives up the place that a join link gave. The node takes it again if it comes back while there is room. */
export async function leavePlace(grant: JoinGrant, token: string): Promise<void> {
  if (token === grant.joinToken) return;
  const headers = { authorization: `Bearer ${token}` };
  const left = operatorFetch(`${grant.url}/training/join`, { method: "DELETE", headers, signal: AbortSignal.timeout(LEAVE_MS) });
  await ignore(left, "rounds do not wait for a node that is gone");
}

function fileOf({ url, joinToken, tokenFolder, name }: JoinGrant): string {
  return join(tokenFolder, hash("sha256", `${url} ${joinToken} ${name}`, "hex").slice(0, 32));
}
