import { isCoordinatorAddress, isTrustedAddress } from "./coordinator-address.ts";

test("an address is a scheme, a host and a port, and nothing else", () => {
  for (const address of ["http://127.0.0.1:5100", "https://co.example.org", "https://[::1]:5100"])
    expect(isCoordinatorAddress(address)).toBe(true);
  const wrong = ["", "co.example.org", "ftp://co", "https://co/", "https://co/path", "https://co?x=1", "https://user:pw@co", "HTTPS://co"];
  for (const address of wrong) expect([address, isCoordinatorAddress(address)]).toEqual([address, false]);
});

test("with TLS only https addresses get credentials, without TLS only addresses of this machine", () => {
  const trusted = (address: string) => [true, false].map((hasTls) => isTrustedAddress(address, { hasTls }));
  expect(trusted("https://co.example.org:5100")).toEqual([true, false]);
  expect(trusted("http://127.0.0.1:5100")).toEqual([false, true]);
  expect(trusted("http://localhost:5100")).toEqual([false, true]);
  expect(trusted("http://co.example.org:5100")).toEqual([false, false]);
  expect(trusted("http://169.254.169.254")).toEqual([false, false]);
});
