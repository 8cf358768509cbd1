import { defined } from "../../../common/defined.ts";
import type { ProviderKind } from "../../../common/providers/shared/provider-kind.ts";
import { PROVIDER_KINDS } from "../../../common/providers/shared/registry.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { UpstreamTls } from "../../upstream/providers/provider.ts";
import { targetOf } from "../../upstream/target.ts";

/** How a provider is called directly: its address, and the header for its key. */
export interface UpstreamRow {
  /** The first segment of our path, and the provider kind of its deployments. */
  readonly kind: string;
  /** The provider's public address; absent: a deployment must have one. */
  readonly root?: string;
  /** Inserted before a path without a version. */
  readonly version?: string;
  readonly keyHeaders: (apiKey: string) => Readonly<Record<string, string>>;
  /** Headers that are added where the client does not send them. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** Its streams report their usage without being asked. */
  readonly streamsUsage?: true;
}

export const UPSTREAM_ROWS: readonly UpstreamRow[] = PROVIDER_KINDS.flatMap((declaration) => {
  const { compatible, baseUrl, passThrough = compatible && baseUrl !== undefined ? {} : undefined } = declaration;
  return passThrough ? [rowOf(declaration, passThrough)] : [];
});

function rowOf(
  { kind, baseUrl }: ProviderKind,
  { keyHeader, version, headers, streamsUsage }: NonNullable<ProviderKind["passThrough"]>,
): UpstreamRow {
  return {
    kind,
    ...(baseUrl === undefined ? {} : rootOf(baseUrl)),
    ...defined({ version, defaults: headers, streamsUsage }),
    keyHeaders: (apiKey) => (keyHeader === undefined ? { authorization: `Bearer ${apiKey}` } : { [keyHeader]: apiKey }),
  };
}

/** A provider with an address and a key of the operator. */
export interface Upstream {
  readonly row: UpstreamRow;
  readonly root: URL;
  readonly apiKey: string;
  readonly tls: UpstreamTls | undefined;
  readonly deployments: readonly Deployment[];
}

/** By kind, each with the key of its first deployment that has one. */
export function findUpstreams(deployments: readonly Deployment[]): Map<string, Upstream> {
  const found = new Map<string, Upstream>();
  for (const row of UPSTREAM_ROWS) {
    const own = deployments.filter(({ providerKind }) => providerKind === row.kind);
    const first = own.find(({ apiKey, baseUrl }) => apiKey !== undefined && (baseUrl ?? row.root) !== undefined);
    const address = first?.baseUrl === undefined ? row.root : rootOf(first.baseUrl).root;
    if (first?.apiKey !== undefined && address !== undefined && URL.canParse(address)) {
      found.set(row.kind, { row, root: new URL(address), apiKey: first.apiKey, tls: targetOf(first).tls, deployments: own });
    }
  }
  return found;
}

/** A deployment's base URL without the version at its end, which comes from the path or the row. */
function rootOf(baseUrl: string): { root: string; version?: string } {
  const base = baseUrl.replace(/(?<!\/)\/+$/, "");
  const match = /^(https?:\/\/.*)\/(v\d\w*)$/.exec(base);
  return match?.[1] !== undefined && match[2] !== undefined ? { root: match[1], version: match[2] } : { root: base };
}
