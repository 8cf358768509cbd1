import { join } from "node:path";
import { type Bench, startBench } from "./bench.ts";
import { python, testScript } from "./cases.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const node = (script: string) => () => [process.execPath, join(import.meta.dirname, script)];

testScript({ client: "ai-sdk", ids: ["B25", "B26", "C23", "E4"], command: node("ai-sdk-main.ts"), bench: () => bench });
testScript({ client: "openai-node", ids: ["R8"], command: node("r8-timeout-main.ts"), bench: () => bench });
testScript({ client: "langchain", ids: ["C25", "C26", "D7", "E7", "E8"], command: python("langchain_client.py"), bench: () => bench });
testScript({ client: "litellm", ids: ["B28"], command: python("litellm_client.py"), bench: () => bench });
