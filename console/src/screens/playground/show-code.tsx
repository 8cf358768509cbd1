import { Modal, Select, Tabs } from "@mantine/core";
import { useState } from "react";
import { CodeBlock } from "../../components/code-block.tsx";
import { codeExamples, type SentRequest } from "./code-examples.ts";

export interface NamedRequest extends SentRequest {
  readonly model: string;
}

/** Code for the last call of each selected model, with conversation and settings. The API key is a placeholder. */
export function ShowCode({ requests, onClose }: { requests: readonly NamedRequest[]; onClose: () => void }) {
  const [chosen, setChosen] = useState(requests[0]?.model ?? "");
  const request = requests.find(({ model }) => model === chosen);
  return (
    <Modal opened onClose={onClose} title="Code examples" size="xl">
      {requests.length > 1 && (
        <Select
          label="Model"
          data={requests.map(({ model }) => model)}
          value={chosen}
          onChange={(model) => model && setChosen(model)}
          allowDeselect={false}
          mb="sm"
        />
      )}
      {request && <Examples request={request} />}
    </Modal>
  );
}

function Examples({ request }: { request: SentRequest }) {
  const examples = codeExamples(request, window.location.origin);
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
