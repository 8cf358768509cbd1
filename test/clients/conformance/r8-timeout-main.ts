/** R8 out of the test runner's realm: there the client does not know the runtime's own abort error as an error. */
import assert from "node:assert/strict";
import OpenAI, { APIConnectionTimeoutError } from "openai";
import { VERSION } from "openai/version";
import { readSettings, runScriptCases, sentTo } from "./settings.ts";

const settings = await readSettings();

await runScriptCases(VERSION, {
  R8: async () => {
    const openai = new OpenAI({ apiKey: settings.key, baseURL: settings.baseUrl, maxRetries: 0, timeout: 1_000 });
    const completion = openai.chat.completions.create({ model: "oai-hang", messages: [{ role: "user", content: "hi" }] });
    await assert.rejects(completion, APIConnectionTimeoutError);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const [request] = await sentTo(settings, "hang");
    assert.equal(typeof request.abortedAt, "number");
  },
});
