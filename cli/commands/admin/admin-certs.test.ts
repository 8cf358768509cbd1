import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { peerOf } from "../../../common/peers/peer.ts";
import { gwWith } from "../../io-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-certs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = { GW_CONFIG_DIR: join(folder, "settings"), HOME: folder };
const gw = (...words: string[]) => gwWith(["admin", "certs", ...words], { env });
const certificate = (out: string, name: string) => new X509Certificate(readFileSync(join(out, name, "cert.pem")));

test("one folder for each role and named edge, of one authority, with keys that only their owner can read", async () => {
  const out = join(folder, "all");
  const { exit, out: text } = await gw("--out", out, "--hosts", "cp.example.org,10.0.0.7", "--edges", "edge-1,edge-2", "--json");
  expect([exit, JSON.parse(text).data.length]).toEqual([0, 7]);
  const names = ["ca", "control-plane", "coordinator", "edge", "edge-1", "edge-2", "operator", "trainer"];
  expect(readdirSync(out).sort()).toEqual(names);
  const authority = certificate(out, "ca");
  for (const name of names.slice(1)) {
    const own = certificate(out, name);
    expect([own.checkIssued(authority), own.verify(authority.publicKey), own.ca]).toEqual([true, true, false]);
    expect(readFileSync(join(out, name, "ca.pem"), "utf8")).toBe(readFileSync(join(out, "ca", "cert.pem"), "utf8"));
    expect(statSync(join(out, name, "key.pem")).mode & 0o777).toBe(0o600);
    const role = name.startsWith("edge") ? "edge" : name;
    expect(peerOf(own.subjectAltName)).toEqual({ role, name });
  }
  expect(statSync(join(out, "ca", "key.pem")).mode & 0o777).toBe(0o600);
  const plane = certificate(out, "control-plane");
  expect([plane.checkHost("cp.example.org"), plane.checkHost("localhost")]).toEqual(["cp.example.org", "localhost"]);
  expect([plane.checkIP("10.0.0.7"), plane.checkIP("127.0.0.1"), plane.checkIP("::1")]).toEqual(["10.0.0.7", "127.0.0.1", "::1"]);
  // An edge is nobody's server.
  expect(certificate(out, "edge-1").checkHost("cp.example.org")).toBeUndefined();
  expect(certificate(out, "edge-1").keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("what is there is not overwritten: --add makes what is missing with the same authority, --force makes everything anew", async () => {
  const out = join(folder, "again");
  await gw("--out", out);
  const before = readFileSync(join(out, "edge", "cert.pem"), "utf8");
  const refused = await gw("--out", out);
  expect([refused.exit, refused.err]).toEqual([2, expect.stringContaining("--force")]);

  expect((await gw("--out", out, "--add", "--edges", "edge-3")).exit).toBe(0);
  expect(readFileSync(join(out, "edge", "cert.pem"), "utf8")).toBe(before);
  expect(certificate(out, "edge-3").verify(certificate(out, "ca").publicKey)).toBe(true);

  expect((await gw("--out", out, "--force")).exit).toBe(0);
  expect(readFileSync(join(out, "edge", "cert.pem"), "utf8")).not.toBe(before);
  expect(certificate(out, "edge-3").verify(certificate(out, "ca").publicKey)).toBe(false);
});

test.each([
  [["--hosts", "https://cp.example.org"], "--hosts"],
  [["--hosts", "cp.example.org:4100"], "--hosts"],
  [["--edges", "edge:1"], "--edges"],
  [["--edges", "../edge"], "--edges"],
  [["--edges", "ca"], "--edges"],
  [["--days", "0"], "--days"],
])("%j is refused with what is wrong", async (words, option) => {
  const { exit, err } = await gw("--out", join(folder, "wrong"), ...words);
  expect([exit, err]).toEqual([2, expect.stringContaining(option)]);
});
