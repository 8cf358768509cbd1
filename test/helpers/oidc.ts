import { freePort, type ServiceProcess, startProcess } from "./processes.ts";
import type { System } from "./system.ts";

/** The settings of a system whose users sign in at a test issuer, which is not started yet: its client needs the system's address. */
export interface IssuerPlan {
  readonly issuer: string;
  readonly env: Readonly<Record<"OIDC_ISSUER" | "OIDC_CLIENT_ID" | "OIDC_CLIENT_SECRET" | "OIDC_NAME", string>>;
}

export interface Issuer {
  readonly url: string;
  /** Creates or changes an account; `sub` is what a person types into the issuer's form. */
  putAccount(sub: string, claims: { email?: string; email_verified?: boolean; name?: string }): Promise<void>;
  stop(): Promise<unknown>;
}

export async function planIssuer(): Promise<IssuerPlan> {
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const client = { OIDC_CLIENT_ID: "tributary", OIDC_CLIENT_SECRET: "canary-oidc-client-secret" };
  return { issuer, env: { OIDC_ISSUER: issuer, ...client, OIDC_NAME: "Example SSO" } };
}

export async function startIssuer({ issuer, env }: IssuerPlan, system: Pick<System, "url">): Promise<Issuer> {
  const child: ServiceProcess = startProcess({
    entry: "test/helpers/oidc-issuer-main.ts",
    name: "issuer",
    env: {
      ISSUER: issuer,
      CLIENT_ID: env.OIDC_CLIENT_ID,
      CLIENT_SECRET: env.OIDC_CLIENT_SECRET,
      REDIRECT_URI: `${system.url}/api/auth/oidc/sso/callback`,
    },
  });
  await child.ready;
  return {
    url: issuer,
    async putAccount(sub, claims) {
      await fetch(`${issuer}/accounts/${encodeURIComponent(sub)}`, { method: "PUT", body: JSON.stringify(claims) });
    },
    stop: () => child.stop(),
  };
}

/** As much of a browser as redirects need: it keeps cookies and follows nothing by itself. */
export class CookieClient {
  readonly cookies = new Map<string, string>();

  async open(url: string, form?: Readonly<Record<string, string>>): Promise<{ status: number; location: string }> {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
    });
    await response.arrayBuffer();
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    const location = response.headers.get("location");
    return { status: response.status, location: location === null ? "" : new URL(location, url).href };
  }

  #keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "") this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
