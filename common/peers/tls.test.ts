import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../../cli/certs/issue.ts";
import { readConfig } from "../config.ts";
import { controlClientSettings, readClientTls } from "./control-client.ts";
import type { Peer } from "./peer.ts";
import { readPeerTls, readTls, requireTls } from "./tls.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-tls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function filesOf(peer: Peer) {
  const authority = await createAuthority(Date.now());
  const { cert, key } = await authority.issue(peer, { hosts: ["localhost"], days: 1 });
  const place = mkdtempSync(join(folder, "certs-"));
  const write = (name: string, text: string) => {
    writeFileSync(join(place, name), text);
    return join(place, name);
  };
  return { tlsCert: write("cert.pem", cert), tlsKey: write("key.pem", key), tlsCa: write("ca.pem", authority.cert) };
}

const edge: Peer = { role: "edge", name: "edge-1" };
const none = { tlsCert: undefined, tlsKey: undefined, tlsCa: undefined };

test("the three files make a process a peer of its role; without any it is none", async () => {
  const files = await filesOf(edge);
  expect(readPeerTls(files, "edge")?.peer).toEqual(edge);
  expect(readTls({ ...files, tlsCa: undefined })?.ca).toBeUndefined();
  expect([readPeerTls(none, "edge"), readTls(none)]).toEqual([undefined, undefined]);
});

test("what is wrong with the files is said with the variable", async () => {
  const files = await filesOf(edge);
  const other = await filesOf(edge);
  expect(() => readPeerTls(files, "coordinator")).toThrow(/TLS_CERT: .*role edge; it needs .*tributary:\/\/coordinator/);
  expect(() => readPeerTls({ ...files, tlsCa: undefined }, "edge")).toThrow("TLS_CA: must be set");
  expect(() => readTls({ ...files, tlsKey: undefined })).toThrow("TLS_CERT, TLS_KEY: set both");
  expect(() => readTls({ ...none, tlsCa: files.tlsCa })).toThrow("TLS_CERT, TLS_KEY: set both");
  expect(() => readTls({ ...files, tlsKey: other.tlsKey })).toThrow(/TLS_KEY: .* is not the key of the certificate/);
  expect(() => readTls({ ...files, tlsKey: join(folder, "gone.pem") })).toThrow(/TLS_KEY: .*ENOENT/);
  expect(() => readTls({ ...files, tlsCert: files.tlsKey })).toThrow("TLS_CERT:");
});

test("beyond loopback there is no listening and no connecting without TLS", async () => {
  const files = await filesOf(edge);
  const listener = { variable: "CONTROL_HOST", host: "0.0.0.0" };
  expect(() => requireTls(undefined, listener)).toThrow(/CONTROL_HOST: 0\.0\.0\.0 can be reached .*gw admin certs/);
  requireTls(readTls(files), listener);
  requireTls(undefined, { ...listener, host: "127.0.0.2" });

  const settings = (env: Record<string, string>) => readConfig(controlClientSettings, env);
  expect(readClientTls(settings({}), "edge")).toBeUndefined();
  expect(readClientTls(settings({ CONTROL_ADDRESS: "[::1]:4100" }), "edge")).toBeUndefined();
  const remote = settings({ CONTROL_ADDRESS: "cp-1.example.org:4100, cp-2.example.org:4100" });
  expect(remote.controlAddress).toBe("cp-1.example.org:4100,cp-2.example.org:4100");
  expect(() => readClientTls(remote, "edge")).toThrow(/CONTROL_ADDRESS: cp-1.* is another machine/);
  expect(readClientTls(settings({ CONTROL_ADDRESS: "127.0.0.2:4100,127.0.0.3:4100" }), "edge")).toBeUndefined();
  expect(readClientTls({ ...remote, ...files }, "edge")?.peer).toEqual(edge);
  expect(() => settings({ CONTROL_ADDRESS: "cp-1.example.org" })).toThrow("host:port");
});
