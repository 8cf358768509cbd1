import { isExposed, isLoopbackHost, isOpen, openingsOf } from "./exposed.ts";

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
  expect(isExposed({ HOST: host })).toBe(false);
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
  expect(isExposed({ HOST: host })).toBe(true);
});

test("a developer's machine is not exposed: nothing set, empty variables, loopback names", () => {
  expect(isExposed({})).toBe(false);
  expect(isExposed({ HOST: "", PUBLIC_URL: "", TRUST_PROXY: " ", NODE_ENV: "" })).toBe(false);
  expect(isExposed({ PUBLIC_URL: "http://127.0.0.1:4000", NODE_ENV: "development" })).toBe(false);
  expect(isExposed({ PUBLIC_URL: "http://[::1]:4000/" })).toBe(false);
});

test.each([
  { PUBLIC_URL: "https://gateway.example.org" },
  { PUBLIC_URL: "http://10.0.0.7:4000" },
  { PUBLIC_URL: "not an address" },
  { TRUST_PROXY: "127.0.0.1" },
  { NODE_ENV: "production" },
  { HOST: "127.0.0.1", PUBLIC_URL: "http://localhost:4000", TRUST_PROXY: "10.0.0.0/8" },
])("one sign is enough: %j is exposed", (settings) => {
  expect(isExposed(settings)).toBe(true);
});

test("what depends on it is open where the deployment is not exposed, and a variable has the last word", () => {
  expect([isOpen(undefined, false), isOpen(undefined, true)]).toEqual([true, false]);
  expect([isOpen("true", true), isOpen("1", true), isOpen("false", false), isOpen("0", false)]).toEqual([true, true, false, false]);
});

test("test credits are off with card payments and where strangers can buy them, until TEST_CREDITS says otherwise", () => {
  const stripe = { STRIPE_SECRET_KEY: "sk_test_1" };
  const exposed = { TRUST_PROXY: "10.0.0.1" };
  const allowed = [{}, stripe, exposed, { ...stripe, ...exposed }].map((settings) => openingsOf(settings).testCredits);
  expect(allowed).toEqual([true, false, false, false]);
  for (const settings of [{}, stripe, exposed]) {
    expect(openingsOf({ ...settings, TEST_CREDITS: "true" }).testCredits).toBe(true);
    expect(openingsOf({ ...settings, TEST_CREDITS: "false" }).testCredits).toBe(false);
  }
});
