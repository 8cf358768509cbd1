import type { Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";

/** What an upstream answers: a body with status 200, or more. */
export type ScriptedAnswer = string | { status?: number; body: string; breaks?: boolean };

/** An upstream that gives these answers in turn, then `{}`, and keeps the requests. */
export function scriptedSend(answers: readonly ScriptedAnswer[]): { send: Send; requests: UpstreamRequest[] } {
  const requests: UpstreamRequest[] = [];
  const send: Send = async (request) => {
    requests.push(request);
    const given = answers[requests.length - 1] ?? "{}";
    const { status = 200, body, breaks = false } = typeof given === "string" ? { body: given } : given;
    return {
      status,
      headers: {},
      body: (async function* () {
        yield Buffer.from(body);
        if (breaks) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      })(),
    };
  };
  return { send, requests };
}
