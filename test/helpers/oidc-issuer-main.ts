import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import Provider from "oidc-provider";

// A real issuer of OpenID Connect as a process of its own, with one client and accounts that a test chooses: ISSUER, CLIENT_ID,
// CLIENT_SECRET and REDIRECT_URI are its environment.

interface Account {
  email?: string;
  email_verified?: boolean;
  name?: string;
}

const environment = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

const issuer = environment("ISSUER");
const accounts = new Map<string, Account>();

const provider: Provider = new Provider(issuer, {
  clients: [
    { client_id: environment("CLIENT_ID"), client_secret: environment("CLIENT_SECRET"), redirect_uris: [environment("REDIRECT_URI")] },
  ],
  cookies: { keys: ["a key of the test"] },
  pkce: { required: () => true },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...accounts.get(accountId) }) }),
  // Consent is given beforehand.
  async loadExistingGrant({ oidc }): Promise<InstanceType<Provider["Grant"]>> {
    const { client, session } = oidc;
    const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
});
const answer = provider.callback();

createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", issuer);
  if (pathname.startsWith("/accounts/")) return void putAccount(decodeURIComponent(pathname.slice(10)), request, response);
  if (!pathname.startsWith("/interaction/")) return void answer(request, response);
  if (request.method === "POST") return void signIn(request, response);
  response.setHeader("content-type", "text/html");
  response.end(`<!doctype html><html lang="en"><title>Sign in at the issuer</title><h1>Sign in at the issuer</h1><form method="post">
<label>Account <input name="account"></label><button>Sign in</button><button name="cancel" value="yes">Cancel</button></form>`);
}).listen(Number(new URL(issuer).port), "127.0.0.1", () => process.send?.({ type: "ready", port: Number(new URL(issuer).port) }));

async function putAccount(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  accounts.set(id, JSON.parse(await text(request)));
  response.end();
}

async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await text(request));
  const result = form.has("cancel") ? { error: "access_denied" } : { login: { accountId: form.get("account") ?? "" } };
  await provider.interactionFinished(request, response, result);
}
