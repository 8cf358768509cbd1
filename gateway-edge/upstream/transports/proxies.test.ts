import { readProxies } from "./proxies.ts";

const at = (url: string) => {
  const { hostname, port, protocol } = new URL(url);
  const isTls = protocol === "https:";
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port) || (isTls ? 443 : 80), isTls };
};
const hostFor = (environment: Record<string, string>, url: string) => readProxies(environment)(at(url))?.host;

test("the scheme chooses the proxy; HTTP_PROXY counts for https, too, and the spelling in lower case wins", () => {
  const both = { HTTP_PROXY: "http://plain.test:3128", HTTPS_PROXY: "http://secure.test:3128" };
  expect(hostFor(both, "http://a.test/")).toBe("plain.test");
  expect(hostFor(both, "https://a.test/")).toBe("secure.test");
  expect(hostFor({ HTTP_PROXY: "plain.test:3128" }, "https://a.test/")).toBe("plain.test");
  expect(hostFor({ HTTPS_PROXY: "http://secure.test" }, "http://a.test/")).toBeUndefined();
  expect(hostFor({ ...both, https_proxy: "http://lower.test" }, "https://a.test/")).toBe("lower.test");
  expect(hostFor({ HTTPS_PROXY: "" }, "https://a.test/")).toBeUndefined();
});

test("NO_PROXY names hosts with their subdomains, ports, addresses and networks; this machine never has a proxy", () => {
  const environment = {
    HTTP_PROXY: "http://p.test",
    NO_PROXY: "corp.test,.dev.test *.lab.test,api.test:8443,10.0.0.0/8,fd00::/8,192.0.2.7",
  };
  const isDirect = (url: string) => hostFor(environment, url) === undefined;
  const direct = [
    "http://corp.test",
    "https://a.corp.test",
    "http://dev.test",
    "http://x.dev.test",
    "http://y.lab.test",
    "https://api.test:8443",
  ];
  const numbers = ["http://10.9.8.7", "http://[fd00::1]", "http://192.0.2.7", "http://127.0.0.1:11434", "http://[::1]", "http://localhost"];
  expect([...direct, ...numbers].map(isDirect)).toEqual([...direct, ...numbers].map(() => true));
  const proxied = ["http://notcorp.test", "https://api.test", "http://11.0.0.1", "http://192.0.2.70", "http://corp.test.evil.test"];
  expect(proxied.map(isDirect)).toEqual(proxied.map(() => false));
  expect(hostFor({ ...environment, NO_PROXY: "*" }, "http://a.test")).toBeUndefined();
});

test("a proxy has the port of its scheme, TLS and credentials as its URL says; other URLs end the start", () => {
  const proxy = readProxies({ HTTPS_PROXY: "https://us%40er:pa%3Ass@secure.test" })(at("https://a.test"));
  const authorization = `Basic ${Buffer.from("us@er:pa:ss").toString("base64")}`;
  expect(proxy).toEqual({ host: "secure.test", port: 443, isTls: true, authorization });
  for (const text of ["socks5://p.test:1080", "http://"]) expect(() => readProxies({ HTTPS_PROXY: text })).toThrow(/HTTPS_PROXY must be/);
});
