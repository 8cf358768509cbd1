import { Button, Group, Image, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { IconCode, IconSend } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { openAnswer } from "../../api/client.ts";
import { Card } from "../../components/card.tsx";
import { CodeBlock } from "../../components/code-block.tsx";
import { Failure } from "../../components/failure.tsx";
import { type CallField, type CallKind, initialValues, OTHER_CALLS, requestOf } from "./other-calls.ts";
import { ShowCode } from "./show-code.tsx";

const SHOWN_CHARACTERS_MAX = 20_000;

/** The form of a call beside chat, and its answer. */
export function CallForm({ kind, models, secretOf }: { kind: CallKind; models: readonly string[]; secretOf: () => Promise<string> }) {
  const [model, setModel] = useState(models[0] ?? "");
  const [values, setValues] = useState(() => initialValues(kind));
  const [isCodeOpen, setCodeOpen] = useState(false);
  const queryClient = useQueryClient();
  const request = requestOf(kind, model, values);
  const send = useMutation({
    mutationFn: async () => {
      const answer = await openAnswer(request.path, { body: request.body, headers: { authorization: `Bearer ${await secretOf()}` } });
      await queryClient.invalidateQueries({ queryKey: ["quota"] });
      return answer;
    },
  });
  return (
    <Stack gap="md">
      <Card>
        <Stack gap="sm">
          <Select
            label="Model"
            data={[...models]}
            value={model}
            onChange={(next) => next && setModel(next)}
            allowDeselect={false}
            searchable
          />
          {OTHER_CALLS[kind].fields.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              value={values[field.name] ?? ""}
              onValue={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
          <Group justify="flex-end">
            <Button variant="default" leftSection={<IconCode size={16} aria-hidden />} onClick={() => setCodeOpen(true)}>
              Show code
            </Button>
            <Button leftSection={<IconSend size={16} aria-hidden />} loading={send.isPending} onClick={() => send.mutate()}>
              Send
            </Button>
          </Group>
        </Stack>
      </Card>
      <Failure error={send.error} />
      {send.data && <Answer kind={kind} answer={send.data} />}
      {isCodeOpen && <ShowCode requests={[{ model, ...request }]} onClose={() => setCodeOpen(false)} />}
    </Stack>
  );
}

function FieldInput({ field, value, onValue }: { field: CallField; value: string; onValue: (value: string) => void }) {
  const { label, choices, isLong } = field;
  if (choices) {
    return <Select label={label} data={[...choices]} value={value} onChange={(next) => next && onValue(next)} allowDeselect={false} />;
  }
  const props = { label, value, onChange: (event: { currentTarget: { value: string } }) => onValue(event.currentTarget.value) };
  return isLong ? <Textarea {...props} autosize minRows={3} maxRows={12} /> : <TextInput {...props} />;
}

function Answer({ kind, answer }: { kind: CallKind; answer: Blob }) {
  if (OTHER_CALLS[kind].shows === "audio") return <Speech sound={answer} />;
  return <JsonAnswer answer={answer} withImages={OTHER_CALLS[kind].shows === "images"} />;
}

function Speech({ sound }: { sound: Blob }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(sound);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [sound]);
  return (
    <Card title="Response">
      {/* biome-ignore lint/a11y/useMediaCaption: the text that is spoken is in the form above */}
      <audio controls src={url} aria-label="Speech" />
    </Card>
  );
}

function JsonAnswer({ answer, withImages }: { answer: Blob; withImages: boolean }) {
  const [text, setText] = useState("");
  useEffect(() => {
    let isCurrent = true;
    void answer.text().then((read) => isCurrent && setText(read));
    return () => {
      isCurrent = false;
    };
  }, [answer]);
  const pretty = prettyJson(text);
  return (
    <Card title="Response">
      <Stack gap="sm">
        {withImages && pictures(text).map((src) => <Image key={src} src={src} alt="Generated" radius="md" maw={512} />)}
        <CodeBlock code={pretty.slice(0, SHOWN_CHARACTERS_MAX)} label="Copy response" />
      </Stack>
    </Card>
  );
}

/** Long base64 texts are cut: they are shown as images. */
function prettyJson(text: string): string {
  if (text === "") return "";
  const short = (_name: string, value: unknown) => (typeof value === "string" && value.length > 2000 ? `${value.slice(0, 80)}…` : value);
  return JSON.stringify(JSON.parse(text), short, 2);
}

/** Images inside the answer. The page's policy loads no image of another site, so an address stays a text. */
function pictures(text: string): string[] {
  if (text === "") return [];
  const { data = [] } = JSON.parse(text) as { data?: { b64_json?: string }[] };
  return data.flatMap(({ b64_json: bytes }) => (bytes ? [`data:image/png;base64,${bytes}`] : []));
}
