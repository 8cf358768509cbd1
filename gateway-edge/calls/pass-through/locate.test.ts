import { locate } from "./locate.ts";
import { UPSTREAM_ROWS, type Upstream } from "./upstreams.ts";

const row = UPSTREAM_ROWS.find(({ kind }) => kind === "gemini");
if (!row) throw new Error("gemini has no pass-through");
const upstream: Upstream = { row, root: new URL("https://provider.example"), apiKey: "up", tls: undefined, deployments: [] };
const queryOf = (query: string, method = "POST") =>
  locate(upstream, { originalUrl: `/gemini/v1beta/models/m:generateContent?${query}`, method }, "/gemini").search;

test.each([
  ["alt=sse&prettyPrint=false", "?alt=sse&prettyPrint=false"],
  ["alt=json", "?alt=json"],
  ["fields=candidates&alt=sse", "?alt=sse"],
  ["FIELDS=candidates", ""],
  ["$fields=candidates&$alt=proto&%24callback=f", ""],
  ["alt=proto&alt=sse", "?alt=sse"],
  ["callback=f", ""],
  ["$httpMethod=DELETE&api-version=1", "?api-version=1"],
])("the usage in an answer to a POST cannot be left out: %s is sent as %j", (given, sent) => {
  expect(queryOf(given)).toBe(sent);
});

test("a GET may choose its format, but neither its method nor a key", () => {
  expect(queryOf("alt=media&fields=name&$httpMethod=POST&key=k&oauth_token=t", "GET")).toBe("?alt=media&fields=name");
});
