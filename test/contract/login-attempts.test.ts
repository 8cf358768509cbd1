import { type Answer, call, newTenant } from "../helpers/api.ts";
import { evidence } from "../helpers/evidence.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { expectError } from "./support.ts";

const AT_ONCE = 80;
const PER_ADDRESS = 10;
const PER_ACCOUNT = 100;
const WINDOW_SECONDS = 300;
const HOUR_SECONDS = 3600;

let system: System;
beforeAll(async () => {
  // The tests stand behind a proxy on loopback, which says where a caller is.
  system = await startSystem({ edges: 2, env: { TRUST_PROXY: "loopback" } });
});
afterAll(() => system.stop());

let counter = 0;
const freshAddress = () => `203.0.113.${++counter}`;
const logIn = (email: string, password: string, address: string, path = "/api/auth/token") =>
  call(system.url, "POST", path, { body: { email, password }, headers: { "x-forwarded-for": address, origin: system.url } });
const many = <T>(count: number, one: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, index) => one(index)));
const counted = (answers: readonly Answer[], status: number) => answers.filter((answer) => answer.status === status);
const waitOf = ({ headers }: Answer) => Number(headers.get("retry-after"));

test("of eighty wrong passwords at once ten are checked and the rest wait; the person gets in from elsewhere", async () => {
  const [victim, address] = [await newTenant(system), freshAddress()];
  const answers = await many(AT_ONCE, (index) => logIn(victim.email, `guess ${index}`, address));
  expect([counted(answers, 401).length, counted(answers, 429).length]).toEqual([PER_ADDRESS, AT_ONCE - PER_ADDRESS]);
  for (const refused of counted(answers, 429)) {
    expectError(refused, 429, "UNAUTHORIZED");
    expect(waitOf(refused)).toBeGreaterThan(0);
    expect(waitOf(refused)).toBeLessThanOrEqual(WINDOW_SECONDS);
  }
  expectError(await logIn(victim.email, victim.password, address), 429, "UNAUTHORIZED");
  expect((await logIn(victim.email, victim.password, freshAddress())).status).toBe(200);
  for (const item of ["S-27", "F7"])
    evidence(item, `${AT_ONCE} parallel guesses: ${counted(answers, 401).length} verified, ${counted(answers, 429).length} × 429`);
});

test("an address without an account is answered and counted like one with an account", async () => {
  const [known, unknown] = [(await newTenant(system)).email, "nobody-here@example.org"];
  const bodies = async (email: string) => {
    const address = freshAddress();
    const answers = await many(AT_ONCE, () => logIn(email, "a guess", address));
    const texts = (status: number) => new Set(counted(answers, status).map(({ body }) => `${body.code} ${body.error.replace(/\d+/, "n")}`));
    return { checked: counted(answers, 401).length, wrong: [...texts(401)], wait: [...texts(429)] };
  };
  expect(await bodies(unknown)).toEqual(await bodies(known));
});

test("a right password uses up no attempt, and does not give back those of wrong ones", async () => {
  const [person, address] = [await newTenant(system), freshAddress()];
  for (let wrong = 0; wrong < PER_ADDRESS - 1; wrong++) expectError(await logIn(person.email, "wrong", address), 401, "UNAUTHORIZED");
  for (let right = 0; right < PER_ADDRESS + 5; right++) expect((await logIn(person.email, person.password, address)).status).toBe(200);
  expectError(await logIn(person.email, "wrong", address), 401, "UNAUTHORIZED");
  expectError(await logIn(person.email, person.password, address), 429, "UNAUTHORIZED");
});

test("one account takes a hundred wrong passwords an hour, from however many addresses", async () => {
  const victim = await newTenant(system);
  const addresses = Array.from({ length: 12 }, freshAddress);
  const answers: Answer[] = [];
  for (const address of addresses) answers.push(...(await many(PER_ADDRESS, () => logIn(victim.email, "wrong", address))));
  expect(counted(answers, 401)).toHaveLength(PER_ACCOUNT);
  const [refused] = counted(answers, 429);
  expect(refused && waitOf(refused)).toBeGreaterThan(WINDOW_SECONDS);
  expect(refused && waitOf(refused)).toBeLessThanOrEqual(HOUR_SECONDS);
});

test("the console's log-in and the current password of a password change use the same attempts", async () => {
  const [person, address] = [await newTenant(system), freshAddress()];
  const change = () =>
    call(system.url, "POST", "/api/auth/password", {
      token: person.token,
      body: { currentPassword: "a guess", newPassword: "another long password" },
      headers: { "x-forwarded-for": address },
    });
  const half = PER_ADDRESS / 2;
  expect(counted(await many(half, () => logIn(person.email, "wrong", address, "/api/auth/session")), 401)).toHaveLength(half);
  const changes = await many(AT_ONCE, change);
  expect([counted(changes, 401).length, counted(changes, 429).length]).toEqual([half, AT_ONCE - half]);
  expectError(await logIn(person.email, person.password, address, "/api/auth/session"), 429, "UNAUTHORIZED");
});

test.each([
  ["sign-ups", 20, "/api/auth/signup", (index: number) => ({ email: `many-${index}@example.org`, password: "long enough" }), 201],
  ["reset mails", 10, "/api/auth/password/reset-request", () => ({ email: "nobody-here@example.org" }), 202],
] as const)(
  "an address on an exposed deployment gets its hourly %s, then 429 with retry-after",
  async (_name, limit, path, body, status) => {
    const ask = (index: number, address: string) =>
      call(system.url, "POST", path, { body: body(index), headers: { "x-forwarded-for": address } });
    const address = freshAddress();
    const answers = await many(limit + 5, (index) => ask(index, address));
    expect([counted(answers, status).length, counted(answers, 429).length]).toEqual([limit, 5]);
    for (const refused of counted(answers, 429)) {
      expectError(refused, 429, "QUOTA_EXCEEDED");
      expect(waitOf(refused)).toBeGreaterThan(WINDOW_SECONDS);
      expect(waitOf(refused)).toBeLessThanOrEqual(HOUR_SECONDS);
    }
    expect((await ask(limit + 5, freshAddress())).status).toBe(status);
  },
  60_000,
);
