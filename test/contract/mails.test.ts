import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { call, newTenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { expectError } from "./support.ts";

const REPLIES: Readonly<Record<string, string>> = { DATA: "354 go on", QUIT: "221 bye" };

const mails: string[] = [];
const arrived = new EventEmitter();
/** The text of the first mail to an address, without its quoted-printable encoding. */
async function mailTo(address: string): Promise<string> {
  while (mailsTo(address).length === 0) await once(arrived, "mail");
  return mailsTo(address)[0] ?? "";
}
const mailsTo = (address: string) => mails.filter((mail) => mail.includes(`To: ${address}\r\n`));

/** As much of a mail server as a client needs to hand a mail over. */
const server = createServer((socket) => {
  socket.setEncoding("utf8").write("220 test\r\n");
  let [buffer, isData] = ["", false];
  socket.on("data", (piece) => {
    buffer += piece;
    while (true) {
      const end = isData ? "\r\n.\r\n" : "\r\n";
      const at = buffer.indexOf(end);
      if (at === -1) return;
      const text = buffer.slice(0, at);
      buffer = buffer.slice(at + end.length);
      if (isData) {
        mails.push(plain(text));
        arrived.emit("mail");
      }
      reply(socket, isData ? "" : text.slice(0, 4).trim().toUpperCase());
      isData = !isData && text.toUpperCase() === "DATA";
    }
  });
});
const plain = (text: string) =>
  text.replace(/=\r\n/g, "").replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
const reply = (socket: Socket, command: string) => socket.write(`${REPLIES[command] ?? "250 ok"}\r\n`);

let system: System;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  system = await startSystem({ env: { SMTP_URL: `smtp://127.0.0.1:${port}`, SIGNUP_GRANT_NANO_USD: "7" } });
});
afterAll(async () => {
  await system?.stop();
  server.close();
});

test("with a mail server the link goes to the invited address and to the inviter, once each", async () => {
  const tenant = await newTenant(system);
  const body = { teamId: tenant.teamId, email: "grace@example.org", role: "member" };
  const headers = { "idempotency-key": "one-invitation" };
  const invited = await call(system.url, "POST", "/api/gw/teams/invite-member", { token: tenant.token, body, headers });
  const repeated = await call(system.url, "POST", "/api/gw/teams/invite-member", { token: tenant.token, body, headers });
  expect(repeated.body).toEqual(invited.body);
  expect(await mailTo("grace@example.org")).toContain(invited.body.inviteUrl);
  await call(system.url, "POST", "/api/gw/teams/invite-member", { token: tenant.token, body: { ...body, email: "next@example.org" } });
  await mailTo("next@example.org");
  // The repeated request sent none.
  expect(mailsTo("grace@example.org")).toHaveLength(1);
  expect(system.logs()).not.toContain(new URL(invited.body.inviteUrl).searchParams.get("token"));
});

test("with a mail server the sign-up grant comes with the verified address, once, and the link is in no log", async () => {
  const { email, token } = await newTenant(system);
  const ask = (method: string, path: string, body?: object) => call(system.url, method, path, { token, ...(body ? { body } : {}) });
  const me = async () => (await ask("GET", "/api/auth/me")).body;
  expect(await me()).toMatchObject({ user: { emailVerified: false }, organization: { balance: 0 }, canVerifyEmail: true });
  expect((await ask("POST", "/api/auth/verify-email/resend")).status).toBe(202);
  const secret = /verify-email\?token=([\w-]+)/.exec(await mailTo(email))?.[1] ?? "";
  const verified = await ask("POST", "/api/auth/verify-email", { token: secret });
  expect([verified.status, verified.body.user.emailVerified]).toEqual([200, true]);
  expect(await me()).toMatchObject({ user: { emailVerified: true }, organization: { balance: 7 }, canVerifyEmail: false });
  expectError(await ask("POST", "/api/auth/verify-email", { token: secret }), 400, "VALIDATION_ERROR");
  expectError(await ask("POST", "/api/auth/verify-email/resend"), 400, "VALIDATION_ERROR");
  expect((await me()).organization.balance).toBe(7);
  expect(system.logs()).not.toContain(secret);
});
