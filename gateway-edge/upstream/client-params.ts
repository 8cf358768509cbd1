import { AppError } from "../../common/errors.ts";
import { CLIENT_PARAMS, type ClientParam, type ClientParamRules, readClientParams } from "../../common/providers/client-params.ts";
import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import { targetOf } from "./target.ts";

type Given = Readonly<Partial<Record<ClientParam, string>>>;

const ADDRESS_CHARACTERS_MAX = 512;
const PRINTABLE_KEY = /^[\x21-\x7e]{1,4096}$/;
const VERSION = /^[\w.-]{1,64}$/;
const KEY_MASK = "[api_key]";

/**
 * What a client gives of the provider for one call: its own address, key or API version. They are no part of the job, so that no body,
 * cache, stored content or guardrail has them; the key is private, so that no log of this object shows it.
 */
export class ClientParams {
  readonly apiBase: string | undefined;
  readonly apiVersion: string | undefined;
  readonly names: readonly ClientParam[];
  readonly #apiKey: string | undefined;
  readonly #isPlain: boolean;

  constructor(given: Given) {
    this.apiBase = given.api_base;
    this.apiVersion = given.api_version;
    this.#apiKey = given.api_key;
    this.#isPlain = given.api_base === undefined || isPlainAddress(given.api_base);
    this.names = CLIENT_PARAMS.filter((name) => given[name] !== undefined);
  }

  /** For the upstream request only. */
  get apiKey(): string | undefined {
    return this.#apiKey;
  }

  /** The deployment's address is called with the deployment's key: only the version of its API is another. */
  get usesStoredKey(): boolean {
    return this.apiBase === undefined && this.#apiKey === undefined;
  }

  /** A text without the key, which an upstream may repeat in its errors. */
  mask(text: string): string {
    return this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, KEY_MASK);
  }

  /** Throws if no deployment lists every parameter of this call, or a parameter cannot be used. */
  requireAt(deployments: readonly Deployment[]): void {
    if (deployments.some((deployment) => this.#isListedAt(deployment))) this.#refuseUnusable();
    if (!deployments.some((deployment) => this.isAllowedAt(deployment))) throw this.refusal(deployments);
  }

  isAllowedAt(deployment: Deployment): boolean {
    const rules = rulesOf(deployment);
    return rules !== undefined && this.names.every((name) => this.#isAllowedBy(rules, name));
  }

  #isListedAt(deployment: Deployment): boolean {
    const rules = rulesOf(deployment);
    return rules !== undefined && this.names.every((name) => rules.names.has(name));
  }

  /** As for a model that takes none: it names a parameter that no deployment takes, or the first one. */
  refusal(deployments: readonly Deployment[] = []): AppError {
    const rules = deployments.map(rulesOf).filter((each) => each !== undefined);
    const refused = this.names.find((name) => !rules.some((each) => this.#isAllowedBy(each, name))) ?? this.names[0];
    return new AppError("UNSUPPORTED_PARAMETER", `The parameter ${refused} is not accepted from clients.`, { param: refused });
  }

  #isAllowedBy(rules: ClientParamRules, name: ClientParam): boolean {
    if (name !== "api_base" || !rules.names.has(name)) return rules.names.has(name);
    // A pattern is only run over a short text.
    return this.apiBase !== undefined && this.#isPlain && rules.allowsAddress(this.apiBase);
  }

  #refuseUnusable(): void {
    if (!this.#isPlain) {
      const form = `an http or https address of at most ${ADDRESS_CHARACTERS_MAX} characters without user, query and fragment`;
      throw unusable("api_base", `must be ${form}`);
    }
    // It becomes a header.
    if (this.#apiKey !== undefined && !PRINTABLE_KEY.test(this.#apiKey)) {
      throw unusable("api_key", "must be printable ASCII characters without spaces");
    }
    if (this.apiVersion !== undefined && !VERSION.test(this.apiVersion)) throw unusable("api_version", "is not a version");
  }
}

/** Takes a client's parameters out of the body of a request. Undefined: there are none, or not as text, and the body is parsed as it is. */
export function takeClientParams(body: unknown): { readonly params: ClientParams; readonly rest: unknown } | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { api_base, api_key, api_version } = body as Record<string, unknown>;
  if (api_key === undefined && api_base === undefined && api_version === undefined) return undefined;
  const given = Object.entries({ api_base, api_key, api_version }).filter(([, value]) => value !== undefined && value !== null);
  // Everything else is refused where every body is.
  if (given.length === 0 || given.some(([, value]) => typeof value !== "string")) return undefined;
  const { api_base: _base, api_key: _key, api_version: _version, ...rest } = body as Record<string, unknown>;
  return { params: new ClientParams(Object.fromEntries(given) as Given), rest };
}

const known = new WeakMap<Deployment, ClientParamRules | "none">();

/** What the operator listed; what this edge cannot read allows nothing. */
function rulesOf(deployment: Deployment): ClientParamRules | undefined {
  const found = known.get(deployment) ?? readRules(deployment);
  known.set(deployment, found);
  return found === "none" ? undefined : found;
}

function readRules(deployment: Deployment): ClientParamRules | "none" {
  const listed = targetOf(deployment).params["configurable_clientside_auth_params"];
  return (listed !== undefined && readClientParams(deployment.providerKind, listed).rules) || "none";
}

/** What a pattern of the operator is matched with has to be what is called: nothing that a URL parser drops or takes for something else. */
function isPlainAddress(address: string): boolean {
  if (address.length > ADDRESS_CHARACTERS_MAX || !/^https?:\/\/[\x21-\x7e]/.test(address) || /[^\x21-\x7e]|[\\?#@]/.test(address))
    return false;
  return URL.canParse(address);
}

function unusable(param: ClientParam, what: string): AppError {
  return new AppError("INVALID_REQUEST", `${param}: ${what}`, { param });
}
