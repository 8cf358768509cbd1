import { isOperators, type Machine, refuseOperatorsNodes, sharedCredentials } from "./shared-nodes.ts";

const serving = { urls: ["http://127.0.0.1:5000", "https://trainer.example/base"], token: undefined, secret: undefined };
const machine: Machine = {
  resolve: async (host) => {
    const known: Record<string, string[]> = {
      localhost: ["::1", "127.0.0.1"],
      "alias.example": ["127.0.0.1"],
      "lan.example": ["10.0.0.5"],
      "trainer.example": ["93.184.216.34"],
      "other-name.example": ["93.184.216.34"],
    };
    const addresses = known[host] ?? (/^[\d.]+$|:/.test(host) ? [host] : []);
    if (addresses.length === 0) throw new Error("ENOTFOUND");
    return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  },
  ownAddresses: () => ["127.0.0.1", "10.0.0.5"],
};

test.each([
  "http://127.0.0.1:5000",
  "http://127.0.0.1:5000/any/path",
  "http://localhost:5000",
  "http://127.0.0.2:5000",
  "http://[::1]:5000",
  "http://[::ffff:127.0.0.1]:5000",
  "http://0.0.0.0:5000",
  "http://[::]:5000",
  "http://alias.example:5000",
  "http://10.0.0.5:5000",
  "http://lan.example:5000",
  "https://trainer.example:443/other",
  "https://other-name.example",
])("%s is the operator's node", async (url) => {
  expect(await isOperators({ serving }, url, machine)).toBe(true);
});

test.each([
  "http://127.0.0.1:5001",
  "http://localhost",
  "http://10.0.0.6:5000",
  "https://elsewhere.example",
  "http://trainer.example",
  "http://gone.example:5000",
])("%s is not", async (url) => {
  expect(await isOperators({ serving }, url, machine)).toBe(false);
});

test("the operator's token and secret go to the exact address of a shared node, never to a name that a tenant chose for it", () => {
  const own = { token: "made-at-the-start", secret: "of-the-operator" };
  const none = { token: undefined, secret: undefined };
  const config = { serving: { ...serving, ...own }, sharedTrainers: true };
  for (const url of serving.urls) expect(sharedCredentials(config, url)).toEqual(own);
  for (const url of ["http://localhost:5000", "http://alias.example:5000", "http://127.0.0.1:5000/x", "https://trainer.example"])
    expect([url, sharedCredentials(config, url)]).toEqual([url, none]);
  expect(sharedCredentials({ ...config, sharedTrainers: false }, "http://127.0.0.1:5000")).toEqual(none);
});

test("a node of the operator's that is not shared is refused under another name, by its place in the request", async () => {
  const given = [
    { url: "", path: "body.participants.0.url" },
    { url: "http://alias.example:5000", path: "body.participants.1.url" },
  ];
  await expect(refuseOperatorsNodes(given, { serving, sharedTrainers: false }, machine)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    details: [{ path: "body.participants.1.url" }],
  });
  await expect(refuseOperatorsNodes(given, { serving, sharedTrainers: true }, machine)).resolves.toBeUndefined();
});
