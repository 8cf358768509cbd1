import { execFileSync } from "node:child_process";
import { codeExamples } from "./code-examples.ts";

const BODY = { model: "echo", messages: [{ role: "user", content: 'it\'s a "river"\n\\ü 😀 $HOME `x`' }], seed: 7, stream: true };
const examples = codeExamples({ path: "/v1/chat/completions", body: BODY }, "http://127.0.0.1:4000");

/** Runs shell code with a program of that name that prints its last argument, and returns what it got. */
const lastArgument = (code: string, program: string): unknown =>
  JSON.parse(execFileSync("bash", ["-c", `${program}() { printf %s "\${@: -1}"; }\n${code}`], { encoding: "utf8" }));

test("curl and gw send the very body, whatever a shell would make of its characters", () => {
  expect(lastArgument(examples["curl"] ?? "", "curl")).toEqual(BODY);
  expect(lastArgument((examples["gw"] ?? "").replace(/^GW_API_URL=\S+ GW_API_KEY=\S+ /, ""), "gw")).toEqual(BODY);
});

test("Python has the very body", () => {
  const line = examples["Python"]?.split("\n").find((text) => text.startsWith("body = ")) ?? "";
  const printed = execFileSync("python3", ["-c", `import json\n${line}\nprint(json.dumps(body))`], { encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual(BODY);
});

test("Node has the very body", () => {
  const text = /const body = ([\s\S]*);\nfor await/.exec(examples["Node"] ?? "")?.[1] ?? "";
  expect(JSON.parse(text)).toEqual(BODY);
});

test("a call that is not streamed is posted to its path", () => {
  const { Python, Node } = codeExamples({ path: "/v1/rerank", body: { model: "r" } }, "http://127.0.0.1:4000");
  expect(Python).toContain('client.post("/rerank", body=body');
  expect(Node).toContain('client.post("/rerank", { body })');
});

test("speech is written to a file, because it is bytes", () => {
  const body = { model: "tts", input: "it's", voice: "alloy", response_format: "mp3" };
  const { curl = "", Python, Node, ...others } = codeExamples({ path: "/v1/audio/speech", body }, "http://127.0.0.1:4000");
  expect([lastArgument(curl, "curl"), others]).toEqual([body, {}]);
  expect(execFileSync("bash", ["-c", `curl() { printf '%s\\n' "$@"; }\n${curl}`], { encoding: "utf8" })).toContain(
    "--output\nspeech.mp3\n",
  );
  expect(Python).toMatch(/\nclient\.audio\.speech\.create\(\*\*body\)\.write_to_file\("speech\.mp3"\)$/);
  expect(Node).toContain('import { writeFile } from "node:fs/promises";\n');
  expect(Node).toMatch(
    /\nawait writeFile\("speech\.mp3", Buffer\.from\(await \(await client\.audio\.speech\.create\(body\)\)\.arrayBuffer\(\)\)\);$/,
  );
});
