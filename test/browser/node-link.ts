import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext } from "playwright-core";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { ADMIN_EMAIL, ADMIN_PASSWORD, type System } from "../helpers/system.ts";
import type { Stage } from "./stage.ts";

/** Everything that a script in the console's origin would try, with the visitor's session. It first says that it runs. */
const attack = (hostile: string, attacker: Tenant) => `
  new Image().src = "${hostile}/ran";
  document.cookie = "tributary-session=stolen; path=/";
  navigator.serviceWorker?.register("sw.js", { scope: "/" });
  fetch("/api/admin/users/${attacker.userId}", {
    method: "PATCH", credentials: "include", headers: { "content-type": "application/json" }, body: '{"role":"admin"}',
  });
`;

/** A node that says to browsers whatever could help it. It answers with a page, with a page that it calls JSON, and with a service worker. */
async function startHostileNode() {
  const seen: string[] = [];
  let script = "";
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    seen.push(path);
    response.setHeader("set-cookie", ["tributary-session=evil; Path=/", "__Host-tributary=evil; Path=/; Secure"]);
    response.setHeader("content-security-policy", "default-src * 'unsafe-inline' 'unsafe-eval'");
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("service-worker-allowed", "/");
    response.setHeader("refresh", "0;url=/training/nodes/again");
    const type = path.endsWith(".js") ? "text/javascript" : path.endsWith(".json") ? "application/json" : "text/html";
    response.setHeader("content-type", type);
    response.end(path.endsWith(".js") ? script : `<!doctype html><title>a node</title><script>${script}</script>`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    seen,
    arm: (attacker: Tenant) => {
      script = attack(url, attacker);
    },
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A stranger with a hostile node that has invited the admin. */
async function startAttack(system: System, hostile: Awaited<ReturnType<typeof startHostileNode>>) {
  const attacker = await newTenant(system, { name: "attacker" });
  hostile.arm(attacker);
  const node = await call(system.url, "POST", "/training/nodes", { token: attacker.token, body: { name: "n", url: hostile.url } });
  const body = { teamId: attacker.teamId, email: ADMIN_EMAIL, role: "member" };
  const invited = await call(system.url, "POST", "/api/gw/teams/invite-member", { token: attacker.token, body });
  expect([node.status, invited.status]).toEqual([201, 201]);
  return { attacker, link: `/training/nodes/${node.body.node.id}`, inviteUrl: String(invited.body.inviteUrl) };
}

const cookiesOf = async (context: BrowserContext) => (await context.cookies()).map(({ name, value, path }) => [name, path, value]);

export function nodeLinkTests(stage: () => Stage): void {
  test("F1: an admin opens the link of a stranger's node: the admin stays admin, the stranger stays a stranger", async () => {
    const { system } = stage();
    const hostile = await startHostileNode();
    try {
      const { attacker, link, inviteUrl } = await startAttack(system, hostile);
      const { page, context } = await stage().visitAs({ email: ADMIN_EMAIL, password: ADMIN_PASSWORD });
      await page.goto("/ui/");
      await page.waitForLoadState("networkidle");
      const cookies = await cookiesOf(context);
      expect(cookies.length).toBeGreaterThan(0);

      // The session alone does not open a node, so nothing of it arrives.
      for (const path of ["/steal.html", "/steal.json", "/sw.js"]) {
        const answer = await page.goto(link + path);
        expect([answer?.status(), answer?.headers()["content-security-policy"]]).toEqual([401, "sandbox; default-src 'none'"]);
      }
      expect(hostile.seen).toEqual([]);

      // Even with a credential that opens it, a page is a download and JSON is text.
      await page.route(`**${link}/**`, (route) =>
        route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${attacker.token}` } }),
      );
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.goto(`${link}/steal.html`).catch((error: Error) => expect(error.message).toContain("Download")),
      ]);
      expect(download.url()).toBe(`${system.url}${link}/steal.html`);
      await page.goto(`${link}/steal.json`);
      expect(await page.locator("body").textContent()).toContain("<script>");
      await page.goto("/ui/");
      const worker = await page.evaluate(`navigator.serviceWorker.register("${link}/sw.js").then(() => "registered", String)`);
      expect(worker).not.toBe("registered");
      await page.goto(inviteUrl);
      await page.waitForLoadState("networkidle");

      expect(hostile.seen).toEqual(expect.arrayContaining(["/steal.html", "/steal.json"]));
      expect(hostile.seen).not.toContain("/ran");
      expect(context.serviceWorkers()).toEqual([]);
      expect(await cookiesOf(context)).toEqual(cookies);
      const me = (await (await context.request.get("/api/auth/me")).json()) as { user: object; organization: { id: string } };
      expect(me.user).toMatchObject({ email: ADMIN_EMAIL, role: "admin" });
      expect(me.organization.id).not.toBe(attacker.organizationId);
      const stranger = await context.request.get(`/api/admin/users/${attacker.userId}`);
      expect(await stranger.json()).toMatchObject({ user: { email: attacker.email, role: "user" } });
      const team = await call(system.url, "GET", `/api/gw/teams/${attacker.teamId}`, { token: attacker.token });
      expect(team.body.team.members).toEqual(
        expect.arrayContaining([expect.objectContaining({ email: ADMIN_EMAIL, status: "invited", joinedAt: null })]),
      );
    } finally {
      hostile.stop();
    }
  });
}
