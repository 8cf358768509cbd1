import { Tabs } from "@mantine/core";
import { CodeBlock } from "./code-block.tsx";

/** Code examples of a first call in three languages, with the URL of this server. */
export function Snippets({ secret, model = "echo" }: { secret: string; model?: string }) {
  const base = window.location.origin;
  const snippets = {
    curl: `curl -s ${base}/v1/chat/completions \\
  -H "Authorization: Bearer ${secret}" \\
  -H 'content-type: application/json' \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"hello river"}]}'`,
    Python: `# pip install openai
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="${secret}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "hello river"}],
)
print(answer.choices[0].message.content)`,
    Node: `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: "${secret}" });
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "hello river" }],
});
console.log(answer.choices[0].message.content);`,
  };
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List mb="xs" aria-label="Language">
        {Object.keys(snippets).map((language) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(snippets).map(([language, code]) => (
        <Tabs.Panel key={language} value={language}>
          <CodeBlock code={code} label={`Copy the ${language} example`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
