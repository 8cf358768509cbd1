/** A request of the playground: where it goes and exactly what it sends. */
export interface SentRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Programs that send the same request, by language. The API key is a variable of the environment. */
export function codeExamples({ path, body }: SentRequest, base: string): Readonly<Record<string, string>> {
  const json = JSON.stringify(body, null, 2);
  const quoted = `'${json.replaceAll("'", "'\\''")}'`;
  const isSpeech = path === SPEECH_PATH;
  return {
    curl: `curl -N ${base}${path} \\${isSpeech ? "\n  --output speech.mp3 \\" : ""}
  -H "Authorization: Bearer $TRIBUTARY_KEY" \\
  -H 'content-type: application/json' \\
  -d ${quoted}`,
    Python: `# pip install openai
import json, os
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["TRIBUTARY_KEY"])
body = json.loads(${pythonText(JSON.stringify(body))})
${body["stream"] === true ? PYTHON_STREAM : pythonPost(path)}`,
    Node: `// npm install openai
import OpenAI from "openai";${isSpeech ? '\nimport { writeFile } from "node:fs/promises";' : ""}

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: process.env.TRIBUTARY_KEY });
const body = ${json};
${body["stream"] === true ? NODE_STREAM : nodePost(path)}`,
    // gw prints JSON and text, no sound.
    ...(isSpeech ? {} : { gw: `GW_API_URL=${base} GW_API_KEY=$TRIBUTARY_KEY gw api POST ${path} -d ${quoted}` }),
  };
}

/** extra_body carries parameters that the client library does not name itself. */
const PYTHON_STREAM = `stream = client.chat.completions.create(
    model=body.pop("model"), messages=body.pop("messages"), stream=body.pop("stream"), extra_body=body
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="", flush=True)`;

const NODE_STREAM = `for await (const chunk of await client.chat.completions.create(body)) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
}`;

/** The only call whose answer is bytes, which are written to a file. */
const SPEECH_PATH = "/v1/audio/speech";
const PYTHON_SPEECH = `client.audio.speech.create(**body).write_to_file("speech.mp3")`;
const NODE_SPEECH = `await writeFile("speech.mp3", Buffer.from(await (await client.audio.speech.create(body)).arrayBuffer()));`;

const inner = (path: string): string => path.replace(/^\/v1/, "");
const pythonPost = (path: string): string =>
  path === SPEECH_PATH ? PYTHON_SPEECH : `print(client.post("${inner(path)}", body=body, cast_to=object))`;
const nodePost = (path: string): string =>
  path === SPEECH_PATH ? NODE_SPEECH : `console.log(await client.post("${inner(path)}", { body }));`;

/** JSON has no escapes that Python lacks, so a JSON text is also a Python one. */
const pythonText = (text: string): string => JSON.stringify(text);
