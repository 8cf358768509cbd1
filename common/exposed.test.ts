import { isExposed, isLoopbackHost, isOpen, openingsOf, refuseUnverifiedTls } from "./exposed.ts";

test.each([
  "127.0.0.1",
  "127.0.0.2",
  "127.255.255.254",
  "::1",
  "[::1]",
  "0:0:0:0:0:0:0:1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "localhost",
  "LOCALHOST.",
  "a.localhost",
])("%s is loopback", (host) => {
  expect(isLoopbackHost(host)).toBe(true);
  expect(isExposed({ host })).toBe(false);
});

test.each([
  "0.0.0.0",
  "::",
  "10.0.0.7",
  "192.168.1.2",
  "128.0.0.1",
  "::ffff:10.0.0.1",
  "fe80::1",
  "example.org",
  "localhost.example.org",
  "127.0.0.1.example.org",
  "127.1",
])("%s is not loopback", (host) => {
  expect(isLoopbackHost(host)).toBe(false);
  expect(isExposed({ host })).toBe(true);
});

test("a developer's machine is not exposed: nothing set, empty variables, loopback names", () => {
  expect(isExposed({})).toBe(false);
  expect(isExposed({ trustProxy: [] })).toBe(false);
  expect(isExposed({ publicUrl: "http://127.0.0.1:4000", nodeEnv: "development" })).toBe(false);
  expect(isExposed({ publicUrl: "http://[::1]:4000/" })).toBe(false);
});

test.each([
  { publicUrl: "https://gateway.example.org" },
  { publicUrl: "http://10.0.0.7:4000" },
  { publicUrl: "not an address" },
  { trustProxy: ["127.0.0.1"] },
  { nodeEnv: "production" },
  { host: "127.0.0.1", publicUrl: "http://localhost:4000", trustProxy: ["10.0.0.0/8"] },
])("one sign is enough: %j is exposed", (settings) => {
  expect(isExposed(settings)).toBe(true);
});

test("what depends on it is open where the deployment is not exposed, and a variable has the last word", () => {
  expect([isOpen(undefined, false), isOpen(undefined, true)]).toEqual([true, false]);
  expect([isOpen("true", true), isOpen("1", true), isOpen("false", false), isOpen("0", false)]).toEqual([true, true, false, false]);
});

test("test credits are off with card payments and where strangers can buy them, until TEST_CREDITS says otherwise", () => {
  const stripe = { stripeSecretKey: "sk_test_1" };
  const exposed = { trustProxy: ["10.0.0.1"] };
  const allowed = [{}, stripe, exposed, { ...stripe, ...exposed }].map((settings) => openingsOf(settings).testCredits);
  expect(allowed).toEqual([true, false, false, false]);
  for (const settings of [{}, stripe, exposed]) {
    expect(openingsOf({ ...settings, testCredits: "true" }).testCredits).toBe(true);
    expect(openingsOf({ ...settings, testCredits: "false" }).testCredits).toBe(false);
  }
});

test("an exposed process does not start with unverified certificates, and says what to do instead", () => {
  const unverified = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  for (const exposed of [{ NODE_ENV: "production" }, { HOST: "0.0.0.0" }, { TRUST_PROXY: "10.0.0.1" }, { PUBLIC_URL: "https://a.example" }])
    expect(() => refuseUnverifiedTls({ ...unverified, ...exposed })).toThrow("NODE_EXTRA_CA_CERTS");
  expect(() => refuseUnverifiedTls(unverified)).not.toThrow();
  expect(() => refuseUnverifiedTls({ NODE_ENV: "production", NODE_TLS_REJECT_UNAUTHORIZED: "1" })).not.toThrow();
});
