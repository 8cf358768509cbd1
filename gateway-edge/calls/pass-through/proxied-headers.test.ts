import { CREDENTIAL_HEADERS } from "../../../common/credential-headers.ts";
import { headersBack, headersTo } from "./proxied-headers.ts";
import { UPSTREAM_ROWS } from "./upstreams.ts";

const row = UPSTREAM_ROWS.find(({ kind }) => kind === "gemini");
if (!row) throw new Error("gemini has no pass-through");
const upstream = { row, root: new URL("https://provider.example/deep/base") };
const back = (headers: Record<string, string>, status = 200) => headersBack({ status, headers }, upstream);

test("no header that can hold a key of the gateway reaches a provider", () => {
  const given = Object.fromEntries([...CREDENTIAL_HEADERS, "x-litellm-api-key"].map((name) => [name, "sk-customers-key"]));
  const sent = headersTo({ ...upstream, apiKey: "up-gemini", tls: undefined, deployments: [] }, { ...given, "x-other": "kept" });
  expect(sent).toMatchObject({ "x-other": "kept", "x-goog-api-key": "up-gemini" });
  expect(Object.values(sent)).not.toContain("sk-customers-key");
});

test("no header changes a call's method, the fields of its answer or the account that pays for it", () => {
  const names = ["x-http-method-override", "x-http-method", "x-method-override", "x-goog-fieldmask", "x-goog-field-mask", "prefer"];
  const accounts = ["openai-organization", "openai-project"];
  const given = Object.fromEntries([...names, ...accounts].map((name) => [name, "the client's"]));
  const sent = headersTo({ ...upstream, apiKey: "up-gemini", tls: undefined, deployments: [] }, { ...given, "x-goog-api-client": "kept" });
  expect(sent).toMatchObject({ "x-goog-api-client": "kept" });
  expect(Object.values(sent)).not.toContain("the client's");
});

test("nothing that a provider says to browsers is passed on", () => {
  const told = {
    "set-cookie": "__Host-tributary=evil",
    "content-security-policy": "script-src *",
    "content-security-policy-report-only": "script-src *",
    "x-frame-options": "ALLOWALL",
    "access-control-allow-origin": "*",
    "service-worker-allowed": "/",
    "clear-site-data": '"*"',
    "strict-transport-security": "max-age=0",
    "www-authenticate": "Basic",
    refresh: "0;url=https://evil.example",
    link: "<https://evil.example/x.js>; rel=preload",
    "x-content-type-options": "sniff",
    "alt-svc": "h3",
  };
  expect(back({ ...told, "content-type": "application/json", "x-ratelimit-remaining-requests": "9" })).toEqual({
    "content-type": "application/json",
    "x-ratelimit-remaining-requests": "9",
  });
});

test.each([
  ["application/json; charset=utf-8", "application/json; charset=utf-8", undefined],
  ["application/problem+json", "application/problem+json", undefined],
  ["text/event-stream", "text/event-stream", undefined],
  ["text/plain", "text/plain", undefined],
  ["application/octet-stream", "application/octet-stream", undefined],
  ["audio/mpeg", "audio/mpeg", "attachment"],
  ["image/png", "image/png", "attachment"],
  ["text/html", "application/octet-stream", "attachment"],
  ["image/svg+xml", "application/octet-stream", "attachment"],
  ["text/xml", "application/octet-stream", "attachment"],
  ["text/javascript", "application/octet-stream", "attachment"],
  ["audio/mpeg, text/html", "application/octet-stream", "attachment"],
  ["application/json,text/html", "application/octet-stream", "attachment"],
  ["multipart/x-mixed-replace; boundary=x", "application/octet-stream", "attachment"],
])("what a provider calls %j is passed on as %j", (given, type, disposition) => {
  expect(back({ "content-type": given })).toEqual({ "content-type": type, ...(disposition && { "content-disposition": disposition }) });
});

test("a download keeps the file name of the provider; an answer without a body needs no type", () => {
  const file = { "content-type": "text/html", "content-disposition": 'inline; filename="a.html"' };
  expect(back(file)["content-disposition"]).toBe('attachment; filename="a.html"');
  expect(back({}, 204)).toEqual({});
  expect(back({})).toEqual({ "content-type": "application/octet-stream", "content-disposition": "attachment" });
});

test.each([
  ["https://provider.example/deep/base/v1/files/1?x=1", "/gemini/v1/files/1?x=1"],
  ["/deep/base/v1/files/1", "/gemini/v1/files/1"],
  ["https://provider.example/elsewhere", undefined],
  ["https://evil.example/deep/base/x", undefined],
  ["//evil.example/deep/base/x", undefined],
  ["https://provider.example/deep/base/../../ui", undefined],
  ["javascript:alert(1)", undefined],
])("a location of %s leads to %s", (location, path) => {
  expect(back({ "content-type": "application/json", location })["location"]).toBe(path);
});
