import type { CodeSample } from "./code-sample.ts";
import type { SampleRequest } from "./sample-request.ts";

/** A WebSocket is no request with an answer: each sample connects, sends one event and prints what comes. `gw` has none. */
export function realtimeSamples({ path }: SampleRequest): readonly CodeSample[] {
  const [address = ""] = path.split("?");
  const prefix = address.slice(0, -"/realtime".length);
  return [
    {
      lang: "Shell",
      label: "curl",
      source: `# The handshake alone; curl shows its answer.
curl -si --http1.1 --max-time 5 "$B${path}" \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='`,
    },
    {
      lang: "Python",
      label: "Python",
      source: `import os
from openai import OpenAI

client = OpenAI(base_url=os.environ["B"] + "${prefix}", api_key=os.environ["KEY"])
with client.realtime.connect(model="gpt-realtime") as connection:
    connection.response.create()
    for event in connection:
        print(event.type)
        if event.type == "response.done":
            break`,
    },
    {
      lang: "JavaScript",
      label: "Node",
      source: `import WebSocket from "ws";

const socket = new WebSocket(\`\${process.env.B.replace("http", "ws")}${path}\`, { headers: { Authorization: \`Bearer \${process.env.KEY}\` } });
socket.on("open", () => socket.send(JSON.stringify({ type: "response.create" })));
socket.on("message", (event) => console.log(String(event)));`,
    },
  ];
}
