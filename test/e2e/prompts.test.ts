import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../common/clock.ts";
import { type Answer, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../helpers/otlp-receiver.ts";
import { type System, startSystem } from "../helpers/system.ts";

const [FIRST, SECOND] = ["first-secret-key-of-this-platform-0001", "other-secret-key-of-this-platform-0002"];
const DAY_MS = 24 * 3_600_000;
const mark = randomBytes(6).toString("hex");
/** What customers write before and after their organization stores it; the name of a tenant is known to be in the store. */
const [BEFORE, AFTER, MAIL, NAME] = [`before${mark}`, `after${mark}`, `jane.${mark}@example.org`, `known${mark}`];

let folder: string;
let receiver: OtlpReceiver;
let system: System;
let tenant: Tenant;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-prompts-"));
  receiver = await startOtlpReceiver();
  const env = { DATA_DIR: folder, SECRET_KEY: FIRST, LOG_LEVEL: "info", OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  system = await startSystem({ env });
  tenant = await newTenant(system, { creditNano: 1_000_000_000, name: NAME });
});
afterAll(async () => {
  await system.stop();
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

const idOf = ({ headers }: Answer): string => headers.get("x-gw-call-id") ?? "";
const contentOf = (one: Answer, { token } = tenant) => call(system.url, "GET", `/api/gw/logs/${idOf(one)}/content`, { token });
const set = (body: object) => call(system.url, "PUT", "/api/gw/organizations", { token: tenant.token, body });

async function until<T>(read: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (let turn = 0; turn < 600; turn++) {
    const found = await read();
    if (found !== undefined && found !== false) return found;
    await systemClock.sleep(50);
  }
  throw new Error("it did not happen within 30 s");
}

/** A call whose content is stored: an edge learns of the setting within a second, and a content follows its call. */
const storedChat = (more: object = {}) =>
  until(async () => {
    const one = await chat(system, tenant.key, `${AFTER} to ${MAIL}`, more);
    // If the edge did not know of the setting yet, nothing follows: then another call is made.
    for (let look = 0; look < 10; look++) {
      const { status, body } = await contentOf(one);
      if (status === 200) return { one, content: body.content };
      await systemClock.sleep(50);
    }
    return undefined;
  });

test("nothing is stored or traced until the organization asks for it; then prompts and answers are, sealed and redacted", async () => {
  const before = await chat(system, tenant.key, BEFORE);
  expect((await contentOf(before)).body).toMatchObject({ code: "NOT_FOUND", error: expect.stringContaining("logContent is off") });
  expect((await set({ logContent: true, logContentDays: 7 })).body.organization).toMatchObject({ logContent: true, logContentDays: 7 });

  for (const stream of [false, true]) {
    const { one, content } = await storedChat({ stream });
    const said = { role: "assistant", content: `${AFTER} to [EMAIL]` };
    expect(content).toMatchObject({
      prompt: { messages: [{ role: "user", content: `${AFTER} to [EMAIL]` }] },
      promptTruncated: false,
      answer: { choices: [{ index: 0, message: said, finish_reason: "stop" }] },
      answerTruncated: false,
    });
    expect(Date.parse(content.expiresAt) - Date.parse(content.createdAt)).toBe(7 * DAY_MS);
    const span = await until(() => receiver.spans.find((found) => found.kind === 3 && found.attributes["tributary.call_id"] === idOf(one)));
    expect(JSON.parse(String(span.attributes["gen_ai.input.messages"]))).toEqual([
      { role: "user", parts: [{ type: "text", content: `${AFTER} to [EMAIL]` }] },
    ]);
    expect(String(span.attributes["gen_ai.output.messages"])).toContain(AFTER);
  }
  expect((await contentOf(before)).status).toBe(404);
  expect(receiver.text()).not.toContain(BEFORE);
  expect(receiver.text()).not.toContain(MAIL);
});

test("each read is in the audit log, and another organization finds no such call", async () => {
  const { one } = await storedChat();
  const other = await newTenant(system);
  expect((await contentOf(one, other)).body).toMatchObject({ code: "NOT_FOUND", error: "The log has no such call." });
  const { body } = await call(system.url, "GET", "/api/gw/organizations/audit?pageSize=100", { token: tenant.token });
  const lines = body.data as { action: string; target: string; actorId: number }[];
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ action: "content.read", target: idOf(one), actorId: tenant.userId }),
      expect.objectContaining({ action: "organization.update", target: tenant.organizationId }),
    ]),
  );
  expect(lines.filter(({ action, target }) => action === "content.read" && target === idOf(one))).toHaveLength(1);
});

test("a rotation of SECRET_KEY seals contents again, and neither prompt nor answer is on disk", async () => {
  const { one, content } = await storedChat();
  await system.restartControlPlane({ SECRET_KEY: SECOND, SECRET_KEY_PREVIOUS: FIRST });
  await until(() => system.controlPlane.stderr.includes("SECRET_KEY_PREVIOUS can be removed") || undefined);
  const after = await until(async () => {
    const { status, body } = await contentOf(one);
    return status === 200 ? body.content : undefined;
  });
  expect(after).toEqual(content);
  const bytes = filesUnder(folder).map((path) => readFileSync(path));
  const isFound = (text: string) => bytes.some((file) => file.includes(text));
  // A search that looks at nothing would find nothing.
  expect([isFound(NAME), isFound(BEFORE), isFound(AFTER), isFound(MAIL)]).toEqual([true, false, false, false]);
  for (const text of [BEFORE, AFTER, MAIL]) expect(system.logs()).not.toContain(text);
});

function filesUnder(path: string): string[] {
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
