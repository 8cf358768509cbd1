import json
import re

import openai
from pydantic import BaseModel
from support import (
    CHAT_DIALECTS,
    TIME,
    WEATHER,
    Counted,
    create,
    expect,
    expect_in,
    expect_that,
    fails,
    group_of,
    last_sent,
    run,
    sent,
    upstream_model,
    user,
)

OPTIONAL = (
    "frequency_penalty presence_penalty logit_bias logprobs top_logprobs max_tokens max_completion_tokens n response_format seed "
    "service_tier stop stream stream_options temperature top_p tools tool_choice parallel_tool_calls functions function_call user "
    "metadata modalities audio prediction reasoning_effort store verbosity web_search_options safety_identifier prompt_cache_key"
).split()
SIX_ROLES = [
    {"role": "developer", "content": "Prefer metric units."},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Oslo?", "name": "ann"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "7"},
    {"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": "{}"}},
    {"role": "function", "name": "get_weather", "content": "18"},
    {"role": "user", "content": "Thanks."},
]


class City(BaseModel):
    name: str
    people: int


def text(answer):
    return answer.choices[0].message.content


def parse(group):
    return Counted().openai.chat.completions.parse(model=group, messages=user("a city"), response_format=City)


def b1():
    nulls = dict.fromkeys(OPTIONAL)
    for dialect in CHAT_DIALECTS:
        expect(text(create(dialect, extra_body=nulls)), "pong", dialect)
        expect_that("null" not in last_sent(upstream_model(dialect))["bodyText"], f"{dialect} got a null")


def b2():
    create("oai", SIX_ROLES)
    expect(last_sent("pong")["body"]["messages"], SIX_ROLES)


def b4():
    choices = create("oai", n=3).choices
    expect([(choice.index, choice.message.content) for choice in choices], [(0, "pong"), (1, "pong#1"), (2, "pong#2")])


def b5():
    try:
        expect(len(create("anth", n=2).choices), 2)
    except openai.BadRequestError as error:
        expect((error.code, error.param), ("unsupported_parameter", "n"))


def b7():
    named = {"type": "function", "function": {"name": "get_weather"}}
    for dialect in ("oai", "anth", "gem", "bed", "coh", "mis"):
        choice = create(group_of(dialect, "tools"), tools=[WEATHER, TIME], tool_choice=named).choices[0]
        call = choice.message.tool_calls[0]
        expect_that(isinstance(call.function.arguments, str) and call.id, f"{dialect} made {call}")
        actual = (call.function.name, json.loads(call.function.arguments), choice.finish_reason, choice.message.content)
        expect(actual, ("get_weather", {"city": "Oslo"}, "tool_calls", None), dialect)


def b8():
    for dialect in CHAT_DIALECTS:
        group = group_of(dialect, "tools")
        first = create(group, tools=[WEATHER]).choices[0].message
        result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "7"}
        second = create(group, [*user("hi"), first, result], tools=[WEATHER])
        expect((text(second), second.choices[0].finish_reason), ("It is 7 degrees.", "stop"), dialect)
    mistral = last_sent(upstream_model("mis", "tools"))["body"]["messages"]
    expect(mistral[-1]["tool_call_id"], mistral[-2]["tool_calls"][0]["id"])
    expect_that(re.fullmatch(r"[A-Za-z0-9]{9}", mistral[-1]["tool_call_id"]), "Mistral wants nine letters or digits")
    claude = last_sent(upstream_model("anth", "tools"))["body"]["messages"][-1]
    expect((claude["role"], claude["content"][0]["type"]), ("user", "tool_result"))
    google = last_sent(upstream_model("gem", "tools"))["body"]["contents"][-1]["parts"][0]
    expect(google["functionResponse"]["name"], "get_weather")


def b10():
    expect(text(create("bed", tools=[WEATHER], tool_choice="none")), "pong")
    expect_that("toolConfig" not in last_sent(upstream_model("bed"))["body"], "tools were offered")


def b11():
    for group in ("anth-json", "anth-native-json"):
        choice = parse(group).choices[0]
        expect(choice.message.parsed, City(name="Oslo", people=717710))
        expect((choice.finish_reason, choice.message.tool_calls or []), ("stop", []))


def b13():
    for dialect in ("oai", "anth", "gem", "bed"):
        group = group_of(dialect, "filtered")
        expect(create(group).choices[0].finish_reason, "content_filter", dialect)
        fails(openai.ContentFilterFinishReasonError, lambda group=group: parse(group))


def b14():
    client = Counted()
    before = len(sent(upstream_model("gem", "prompt-blocked")))
    error = fails(openai.BadRequestError, lambda: create("gem-prompt-blocked", client=client))
    after = len(sent(upstream_model("gem", "prompt-blocked")))
    expect((error.code, client.attempts, after - before), ("content_policy_violation", 1, 1))


def b16():
    for dialect in CHAT_DIALECTS:
        error = fails(openai.BadRequestError, lambda dialect=dialect: create(group_of(dialect, "context-error")))
        expect(error.code, "context_length_exceeded", dialect)
    expect(text(create("context-guarded")), "from the fallback")


def b17():
    usage = create("anth-usage-cache").usage
    actual = (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens, usage.total_tokens)
    expect(actual, (2255, 512, 5, 2260))


def b20():
    def thought(group, model):
        message = create(group, reasoning_effort="high").choices[0].message
        expect((message.content, message.reasoning_content), ("42", "Let me think."), group)
        return last_sent(model)["body"]

    expect(thought("anth-budget", "claude-3-7-sonnet-20250219--thinking")["thinking"]["type"], "enabled")
    adaptive = thought("anth-adaptive", "claude-opus-4-6--thinking")
    expect((adaptive["thinking"]["type"], adaptive["output_config"]["effort"]), ("adaptive", "high"))
    budget = thought("gem-budget", "gemini-2.5-flash--thinking")["generationConfig"]["thinkingConfig"]
    expect_that(budget["thinkingBudget"] > 0, "no budget")
    level = thought("gem-level", "gemini-3-pro-preview--thinking")["generationConfig"]["thinkingConfig"]
    expect(level["thinkingLevel"], "high")
    expect(thought("dee-thinking", upstream_model("dee", "thinking"))["thinking"], {"type": "enabled"})


def b23():
    gateway = {"fallbacks": ["oai-other"], "num_retries": 1, "guardrails": [], "caching": False}
    expect(text(create("oai", extra_body={"foo": 1, **gateway})), "pong")
    body = last_sent("pong")["body"]
    expect([name for name in gateway if name in body], [])
    expect(body["foo"], 1)


def b29():
    call = create("gem-signed", tools=[WEATHER]).choices[0].message.tool_calls[0]
    function = {"name": call.function.name, "arguments": call.function.arguments}
    kept = {"id": call.id, "type": "function", "function": function}
    history = [
        *user("hi"),
        {"role": "assistant", "content": None, "tool_calls": [kept]},
        {"role": "tool", "tool_call_id": call.id, "content": "7"},
    ]
    expect(text(create("gem-signed", history, tools=[WEATHER])), "It is 7 degrees.")
    turns = last_sent("gemini-3-pro-preview--tools")["body"]["contents"]
    [part] = [part for turn in turns for part in turn["parts"] if "functionCall" in part]
    expect_in(part["thoughtSignature"], ["c2lnbmF0dXJlLW9mLWdlbWluaQ==", "skip_thought_signature_validator"])


run(
    {
        "B1": b1,
        "B2": b2,
        "B4": b4,
        "B5": b5,
        "B7": b7,
        "B8": b8,
        "B10": b10,
        "B11": b11,
        "B13": b13,
        "B14": b14,
        "B16": b16,
        "B17": b17,
        "B19": lambda: expect(text(create("bed-two-blocks")), "ab"),
        "B20": b20,
        "B22": lambda: fails(openai.InternalServerError, lambda: create("gem-malformed", client=Counted(max_retries=0))),
        "B23": b23,
        "B29": b29,
    }
)
