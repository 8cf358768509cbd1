import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { call, newTenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";

const REPLIES: Readonly<Record<string, string>> = { DATA: "354 go on", QUIT: "221 bye" };

const mails: string[] = [];
const arrived = new EventEmitter();
/** The mail that came as the n-th. */
async function mailNumber(count: number): Promise<string> {
  while (mails.length < count) await once(arrived, "mail");
  return mails[count - 1] ?? "";
}

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
        mails.push(text);
        arrived.emit("mail");
      }
      reply(socket, isData ? "" : text.slice(0, 4).trim().toUpperCase());
      isData = !isData && text.toUpperCase() === "DATA";
    }
  });
});
const reply = (socket: Socket, command: string) => socket.write(`${REPLIES[command] ?? "250 ok"}\r\n`);

let system: System;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  system = await startSystem({ env: { SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` } });
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
  const text = (await mailNumber(1))
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  expect(text).toContain("To: grace@example.org");
  expect(text).toContain(invited.body.inviteUrl);
  // A second invitation is the next mail: the repeated request sent none.
  await call(system.url, "POST", "/api/gw/teams/invite-member", { token: tenant.token, body: { ...body, email: "next@example.org" } });
  expect(await mailNumber(2)).toContain("To: next@example.org");
  expect(system.logs()).not.toContain(new URL(invited.body.inviteUrl).searchParams.get("token"));
});
