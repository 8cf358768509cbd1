import { HiddenUsage } from "./sent-body.ts";

const REPORT = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1 } })}`;
const OTHERS = [
  `data: ${JSON.stringify({ choices: [], usage: null, prompt_filter_results: [] })}`,
  `data: ${JSON.stringify({ choices: [{ delta: { content: '"usage" ß' } }] })}`,
  `data: ${JSON.stringify({ choices: [{ delta: {} }], usage: { prompt_tokens: 1 } })}`,
  `data: ${JSON.stringify({ choices: [{ delta: { audio: "y".repeat(50_000) } }] })}`,
  ": usage",
  "data: [DONE]",
];

test.each([1, 7, 1000, 1_000_000])("only the event with the usage is left out, in pieces of %d bytes and with either line end", (size) => {
  for (const end of ["\n\n", "\r\n\r\n"]) {
    const given = Buffer.from([REPORT, ...OTHERS, REPORT].map((each) => each + end).join(""));
    const hidden = new HiddenUsage();
    const shown: Buffer[] = [];
    for (let at = 0; at < given.length; at += size) shown.push(hidden.take(given.subarray(at, at + size)));
    shown.push(hidden.end());
    expect(Buffer.concat(shown).toString()).toBe(OTHERS.map((each) => each + end).join(""));
  }
});
