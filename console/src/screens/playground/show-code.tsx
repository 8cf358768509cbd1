import { Modal, Select, Tabs } from "@mantine/core";
import { useState } from "react";
import { CodeBlock } from "../../components/code-block.tsx";

interface ModelBody {
  readonly model: string;
  readonly body: Record<string, unknown>;
}

/** Code for the last call of each selected model, with conversation and settings. The API key is a placeholder. */
export function ShowCode({ bodies, onClose }: { bodies: readonly ModelBody[]; onClose: () => void }) {
  const [chosen, setChosen] = useState(bodies[0]?.model ?? "");
  const body = bodies.find(({ model }) => model === chosen)?.body ?? {};
  return (
    <Modal opened onClose={onClose} title="Code examples" size="xl">
      {bodies.length > 1 && (
        <Select
          label="Model"
          data={bodies.map(({ model }) => model)}
          value={chosen}
          onChange={(model) => model && setChosen(model)}
          allowDeselect={false}
          mb="sm"
        />
      )}
      <Examples body={body} />
    </Modal>
  );
}

function Examples({ body }: { body: Record<string, unknown> }) {
  const base = window.location.origin;
  const { stream: _stream, stream_options: _options, ...fields } = body;
  const json = JSON.stringify(fields, null, 2);
  const examples = {
    curl: `curl -s ${base}/v1/chat/completions \\
  -H "Authorization: Bearer $TRIBUTARY_KEY" \\
  -H 'content-type: application/json' \\
  -d '${json.replaceAll("'", "'\\''")}'`,
    Python: `# pip install openai
import json, os
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["TRIBUTARY_KEY"])
answer = client.chat.completions.create(**json.loads(${JSON.stringify(JSON.stringify(fields))}))
print(answer.choices[0].message.content)`,
    Node: `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: process.env.TRIBUTARY_KEY });
const answer = await client.chat.completions.create(${json});
console.log(answer.choices[0].message.content);`,
  };
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List mb="xs" aria-label="Language">
        {Object.keys(examples).map((language) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(examples).map(([language, code]) => (
        <Tabs.Panel key={language} value={language}>
          <CodeBlock code={code} label={`Copy the ${language} example`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
