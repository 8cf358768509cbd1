import type { ReportedUsage } from "../../../upstream/providers/provider.ts";
import { billedUsage, toolFeesOf } from "./tool-fees.ts";

const fees = (...types: string[]) => toolFeesOf({ tools: types.map((type) => ({ type })) });
const TOKENS = { promptTokens: 1, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 1, reasoningTokens: 0 };
const CODE_RUN: ReportedUsage = { ...TOKENS, amounts: { codeSession: { input: 1, output: 0 } } };

test.each([
  ["web_search_20260209", { search: 10, codeSession: 0 }],
  ["web_fetch_20260209", { codeSession: 0 }],
])("%s runs code without a fee, also if the request does not list code execution", (type, expected) => {
  expect(fees(type)).toEqual(expected);
  expect(fees(type, "code_execution_20260120")).toEqual(expected);
  expect(billedUsage(CODE_RUN, fees(type))?.amounts).toEqual({});
});

test("code is billed without such a tool, and so is the code interpreter of OpenAI beside one", () => {
  for (const types of [
    ["code_execution_20250825", "web_search_20250305"],
    ["code_interpreter"],
    ["web_search_20260209", "code_interpreter"],
  ]) {
    expect(fees(...types)).toMatchObject({ codeSession: 1 });
    expect(billedUsage(CODE_RUN, fees(...types))).toBe(CODE_RUN);
  }
  expect([fees("function"), fees("web_fetch_20250910"), toolFeesOf({})]).toEqual([undefined, undefined, undefined]);
});
