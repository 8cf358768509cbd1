import { networkInterfaces } from "node:os";
import { type Resolve, resolveAll } from "../../../common/checked-lookup.ts";
import { AppError } from "../../../common/errors.ts";
import { isLoopbackHost } from "../../../common/exposed.ts";
import { orElse } from "../../../common/ignore.ts";
import type { ControlConfig } from "../../config.ts";
import type { TrainerNode } from "../../domain/training-records.ts";

type Config = Pick<ControlConfig, "serving" | "sharedTrainers">;

const FIRST = "node_local";

/** The operator's nodes, which serve trained models. With SHARED_TRAINERS every team may train on them; they belong to no team. */
export function sharedNodes(config: Config): readonly TrainerNode[] {
  return config.sharedTrainers ? operatorNodes(config) : [];
}

/** The operator's nodes, shared or not. */
export function operatorNodes({ serving }: Pick<Config, "serving">): readonly TrainerNode[] {
  return serving.urls.map((url, index) => ({
    id: index === 0 ? FIRST : `${FIRST}_${index + 1}`,
    name: index === 0 ? "shared trainer" : `shared trainer ${index + 1}`,
    url,
    organizationId: "",
    teamId: "",
    status: "unknown",
    updates: 0,
    failures: 0,
    bytes: 0,
    trainMs: 0,
    createdAt: 0,
  }));
}

export function sharedNode(config: Config, id: string): TrainerNode | undefined {
  return sharedNodes(config).find((node) => node.id === id);
}

/**
 * The credentials for calls to a node or participant that is a shared node by its exact address. Another name of the node gets none, because
 * it may lead elsewhere at the next call; its calls are those of an anonymous caller.
 */
export function sharedCredentials({ serving, sharedTrainers }: Config, url: string): NodeCredentials {
  return sharedTrainers && serving.urls.includes(url) ? { token: serving.token, secret: serving.secret } : NO_CREDENTIALS;
}

interface NodeCredentials {
  readonly token: string | undefined;
  readonly secret: string | undefined;
}

const NO_CREDENTIALS: NodeCredentials = { token: undefined, secret: undefined };

/** If the operator does not share its nodes, no node or participant of a tenant may be one of them, under any name. */
export async function refuseOperatorsNodes(
  given: readonly { readonly url: string; readonly path: string }[],
  config: Config,
  machine: Machine = thisMachine,
): Promise<void> {
  if (config.sharedTrainers) return;
  for (const { url, path } of given) {
    if (!URL.canParse(url) || !(await isOperators(config, url, machine))) continue;
    const message = "is a trainer node of the operator, which is not shared; the operator can share it with SHARED_TRAINERS=true";
    throw new AppError("VALIDATION_ERROR", `The address ${message}.`, { details: [{ path, message }] });
  }
}

/** Name resolution, and the addresses of this machine. */
export interface Machine {
  resolve: Resolve;
  ownAddresses(): readonly string[];
}

const thisMachine: Machine = {
  resolve: resolveAll,
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address)),
};

/** Whether an address is one of the operator's nodes: the same port of the same machine, by any name. */
export async function isOperators({ serving }: Pick<Config, "serving">, url: string, machine: Machine = thisMachine): Promise<boolean> {
  const own = serving.urls.filter((each) => portOf(each) === portOf(url));
  if (own.length === 0) return false;
  const given = await placesOf(url, machine);
  const places = await Promise.all(own.map((each) => placesOf(each, machine)));
  return places.some((each) => !each.isDisjointFrom(given));
}

const portOf = (url: string): string => {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? "443" : "80") : port;
};

/** The host by name and by all its addresses; all addresses of this machine count as one. */
async function placesOf(url: string, { resolve, ownAddresses }: Machine): Promise<ReadonlySet<string>> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  const addresses = await orElse(resolve(host), [], "a name without an address is compared as a name");
  const own = new Set(ownAddresses());
  const places = addresses.map(({ address }) => (isThisMachine(address) || own.has(address) ? "this machine" : address));
  return new Set([host, ...(isThisMachine(host) ? ["this machine"] : []), ...places]);
}

/** 0.0.0.0 and :: connect to this machine too. */
const isThisMachine = (host: string): boolean => isLoopbackHost(host) || host === "0.0.0.0" || host === "::";
