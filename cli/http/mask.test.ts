import { CREDENTIAL_HEADERS } from "../../common/credential-headers.ts";
import { maskedHeader } from "./mask.ts";

test("what --verbose prints has no key in it, whatever header holds it", () => {
  const names = [...CREDENTIAL_HEADERS, "X-LiteLLM-Api-Key"];
  expect(new Set(names.map((name) => maskedHeader(name, "sk-customers-key")))).toEqual(new Set(["sk-...-key"]));
  expect(maskedHeader("accept", "sk-customers-key")).toBe("sk-customers-key");
});
