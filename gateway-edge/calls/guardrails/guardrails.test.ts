import fc from "fast-check";
import { silentLogger } from "../../../common/logger.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Guardrail, Stage } from "./guardrail.ts";
import { compileGuardrails } from "./guardrail-settings.ts";
import { HeldText } from "./held-text.ts";
import { isIban, passesLuhn } from "./pii-patterns.ts";
import { guardedScreen, HELD_CHARACTERS_MAX } from "./screen.ts";
import { Vault } from "./vault.ts";

function guardrail(kind: string, params: object = {}): Guardrail {
  const settings = { guardrails: [{ guardrail_name: "g", litellm_params: { guardrail: kind, ...params } }] };
  const [made] = compileGuardrails(JSON.stringify(settings), { logger: silentLogger, moderate: async () => ({}) }).values();
  if (!made) throw new Error(`no guardrail of the kind ${kind}`);
  return made;
}

const context = (stage: Stage = "pre", vault = new Vault()) => ({
  stage,
  callId: "call_1",
  caller: Caller.fromPartial({}),
  signal: new AbortController().signal,
  vault,
});
const masked = async (made: Guardrail, text: string) => {
  const verdict = await made.check([text], context());
  return verdict.action === "mask" ? verdict.texts[0] : verdict.action;
};

describe("personal data is distinguished from look-alikes", () => {
  const pii = guardrail("pii-masking");

  test.each([
    ["ann.b+c@mail.example.co.uk!", "[EMAIL_1]!"],
    ["4111 1111 1111 1111", "[CREDIT_CARD_1]"],
    ["5500-0000-0000-0004.", "[CREDIT_CARD_1]."],
    ["GB82 WEST 1234 5698 7654 32", "[IBAN_1]"],
    ["DE89370400440532013000", "[IBAN_1]"],
    ["from 192.168.10.254.", "from [IP_1]."],
    ["host 2001:db8::8a2e:370:7334 up", "host [IP_1] up"],
    ["SSN 536-90-4399", "SSN [SSN_1]"],
    ["call +49 30 901820 now", "call [PHONE_1] now"],
    ["call (415) 555-2671", "call [PHONE_1]"],
    ["call +14155552671", "call [PHONE_1]"],
  ])("%s", async (text, expected) => {
    expect(await masked(pii, text)).toBe(expected);
  });

  test.each([
    "4111 1111 1111 1112",
    "DE88370400440532013000",
    "on 2026-01-02",
    "version 1.2.3",
    "999.1.1.1",
    "at 12:30:45",
    "a@b",
    "000-12-3456",
    "x = 10 20 30",
  ])("%s is left alone", async (text) => {
    expect(await masked(pii, text)).toBe("allow");
  });

  test("check digits", () => {
    expect([passesLuhn("79927398713"), passesLuhn("79927398710"), passesLuhn("0000000000000")]).toEqual([true, false, false]);
    expect([isIban("FR14 2004 1010 0505 0001 3M02 606"), isIban("FR14 2004 1010 0505 0001 3M02 607")]).toEqual([true, false]);
  });

  test("equal values have one placeholder, others another, and each is put back where it was", async () => {
    const vault = new Vault();
    const verdict = await pii.check(["a@x.org b@x.org", "a@x.org"], context("pre", vault));
    expect(verdict).toEqual({ action: "mask", texts: ["[EMAIL_1] [EMAIL_2]", "[EMAIL_1]"] });
    expect(vault.restore("[EMAIL_2] [EMAIL_1] [EMAIL_3]")).toBe("b@x.org a@x.org [EMAIL_3]");
  });
});

describe("words", () => {
  const list = guardrail("word-list", { words: ["Größe", "top secret", "c++"], action: "mask" });
  test.each([
    ["die GRÖSSE", "allow"],
    ["die größe!", "die [REDACTED]!"],
    ["Großgrößen", "allow"],
    ["Top\n secret", "[REDACTED]"],
    ["in c++.", "in [REDACTED]."],
  ])("%j", async (text, expected) => {
    expect(await masked(list, text)).toBe(expected);
  });
});

test("an entry that cannot be used blocks what it holds for, and one of an unknown kind is not there", async () => {
  const broken = guardrail("regex", { patterns: ["("], default_on: true });
  expect(await broken.check(["x"], context())).toMatchObject({ action: "block" });
  const settings = JSON.stringify({ guardrails: [{ guardrail_name: "p", litellm_params: { guardrail: "presidio" } }] });
  expect(compileGuardrails(settings, { logger: silentLogger, moderate: async () => ({}) }).size).toBe(0);
});

test("a pattern that takes too long on a text blocks it within a second, is logged once, and holds up no other text", async () => {
  const warn = jest.fn();
  const entry = { guardrail_name: "slow", litellm_params: { guardrail: "regex", patterns: ["secret:(\\s*\\w+)*;"] } };
  const options = { logger: { ...silentLogger, warn }, moderate: async () => ({}) };
  const [slow] = compileGuardrails(JSON.stringify({ guardrails: [entry] }), options).values();
  const started = performance.now();
  const hostile = ["hello", `secret:${"a".repeat(26)}`];
  expect(await slow?.check(hostile, context())).toEqual({ action: "block", reason: "a pattern of the guardrail took too long on it" });
  expect(performance.now() - started).toBeLessThan(1000);
  await slow?.check(hostile, context());
  expect(warn).toHaveBeenCalledTimes(1);
  expect(await slow?.check(["hello"], context())).toEqual({ action: "allow" });
  expect(await slow?.check(["secret: a b;"], context())).toMatchObject({ action: "block", reason: "it matches pattern 1" });
});

test("modes: before, after, both; beside the call counts as before", () => {
  const stageOf = (mode: unknown) => guardrail("regex", { patterns: ["x"], mode }).stage;
  expect([stageOf("pre_call"), stageOf("post_call"), stageOf(["pre_call", "post_call"]), stageOf("during_call")]).toEqual([
    "pre",
    "post",
    "both",
    "pre",
  ]);
});

test("a schema whose check takes too long on an answer blocks it, and holds up no other one", async () => {
  const both = { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] };
  const schema = { $ref: "#/$defs/a", $defs: { a: { type: "object", required: ["x"], properties: { x: both } } } };
  const slow = guardrail("json-schema", { schema });
  const started = performance.now();
  expect(await slow.check([`${'{"x":'.repeat(60)}1${"}".repeat(60)}`], context("post"))).toEqual({
    action: "block",
    reason: "the schema of the guardrail took too long on it",
  });
  expect(performance.now() - started).toBeLessThan(2000);
});

describe("text held back in a stream", () => {
  const REACH = 12;
  const mask = async (texts: readonly string[]) => texts.map((text) => text.replaceAll(/ab+c/g, "[M]"));
  const alphabet = fc.string({ unit: fc.constantFrom("a", "b", "c", " ", "x", "😀"), maxLength: 120 });
  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });

  function piecesOf(text: string, sizes: readonly number[]): string[] {
    const pieces: string[] = [];
    for (let start = 0, turn = 0; start < text.length; turn++) {
      const size = sizes[turn % sizes.length] ?? 1;
      pieces.push(text.slice(start, start + size));
      start += size;
    }
    return pieces;
  }

  test("however it is cut, what is shown is the whole text as masked at once", async () => {
    await fc.assert(
      fc.asyncProperty(alphabet, cuts, async (text, sizes) => {
        // Findings longer than the reach are not promised.
        fc.pre(!/ab{10,}/.test(text));
        const held = new HeldText({ read: mask, mask }, REACH);
        let shown = "";
        for (const piece of piecesOf(text, sizes)) shown += await held.add(piece);
        shown += await held.flush();
        expect(shown).toBe((await mask([text]))[0]);
      }),
      { numRuns: 300 },
    );
  });

  test("however it is cut, nothing of a blocked finding is shown", async () => {
    const read = async (texts: readonly string[]) => {
      if (texts.some((text) => text.includes("abbc"))) throw new Error("blocked");
      return texts;
    };
    await fc.assert(
      fc.asyncProperty(alphabet, alphabet, cuts, async (before, after, sizes) => {
        const text = `${before}abbc${after}`;
        const held = new HeldText({ read, mask: async (texts) => texts }, REACH);
        let shown = "";
        const reading = (async () => {
          for (const piece of piecesOf(text, sizes)) shown += await held.add(piece);
          shown += await held.flush();
        })();
        await expect(reading).rejects.toThrow("blocked");
        expect(text.startsWith(shown) && shown.length <= text.indexOf("abbc")).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

test.each(["text", "reasoning"])(
  "an answer of %s that is too long to be held for a guardrail of whole texts is blocked, not let through",
  async (kind) => {
    const read = async (texts: readonly string[]) => texts;
    const text = "x".repeat(HELD_CHARACTERS_MAX / 4);
    async function* parts() {
      for (let part = 0; part < 5; part++) {
        if (kind === "text") yield { type: "text-delta", choice: 0, text } as const;
        else yield { type: "other-delta", choice: 0, fields: { reasoning_content: text }, text } as const;
      }
    }
    const shown: unknown[] = [];
    const reading = async () => {
      for await (const part of guardedScreen({ read, mask: read }, Number.POSITIVE_INFINITY)(parts())) shown.push(part);
    };
    await expect(reading()).rejects.toMatchObject({ code: "CONTENT_POLICY_VIOLATION" });
    expect(shown).toEqual([{ type: "text-delta", choice: 0, text: "" }]);
  },
);
