import json

import openai
from support import CHAT_DIALECTS, Counted, expect, expect_that, fails, group_of, last_sent, run

POEM = "".join(f"word{index} " for index in range(20))
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def responses():
    return Counted().openai.responses


def final(model, **more):
    with responses().stream(model=model, **more) as stream:
        for _event in stream:
            pass
        return stream.get_final_response()


def expect_failed(model):
    events = list(responses().create(model=model, input="hi", stream=True))
    expect("".join(event.delta for event in events if event.type == "response.output_text.delta"), "one two three ", model)
    last = events[-1]
    expect((last.type, last.response.status), ("response.failed", "failed"), model)
    expect_that(last.response.error and last.response.error.message, f"{model} failed without an error")
    fails(RuntimeError, lambda: final(model, input="hi"))


def h1():
    for dialect in CHAT_DIALECTS:
        answer = responses().create(model=dialect, input="hi")
        expect((answer.output_text, answer.status, answer.model), ("pong", "completed", dialect), dialect)
        usage = answer.usage
        expect(usage.input_tokens + usage.output_tokens, usage.total_tokens, dialect)
        details = (usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens)
        expect(details, (0, 0), dialect)


def h2():
    for dialect in CHAT_DIALECTS:
        model = group_of(dialect, "poem")
        events = list(responses().create(model=model, input="hi", stream=True))
        expect([event.sequence_number for event in events], list(range(len(events))), dialect)
        expect((events[0].type, events[-1].type), ("response.created", "response.completed"), dialect)
        expect(final(model, input="hi").output_text, POEM, dialect)


def h3():
    for dialect in CHAT_DIALECTS:
        model = group_of(dialect, "two-tools")
        first = final(model, input="weather?", tools=[WEATHER])
        calls = [item for item in first.output if item.type == "function_call"]
        expect([json.loads(call.arguments)["city"] for call in calls], ["Oslo", "Rome"], dialect)
        outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "7"} for call in calls]
        second = responses().create(model=model, input=outputs, previous_response_id=first.id, tools=[WEATHER])
        expect(second.output_text, "It is 7 degrees.", dialect)


def h4():
    unknown = {"model": "oai", "input": "hi", "previous_response_id": "resp_unknown"}
    error = fails(openai.NotFoundError, lambda: responses().create(**unknown))
    expect(error.param, "previous_response_id")


def h5():
    expect_failed("oai-error-after-3")


def h6():
    made = responses().create(model="oai", input="hi", metadata={"a": "b"})
    kept = responses().retrieve(made.id)
    expect((kept.output_text, kept.metadata), ("pong", {"a": "b"}))
    expect([item.role for item in responses().input_items.list(made.id)], ["user"])
    responses().delete(made.id)
    fails(openai.NotFoundError, lambda: responses().retrieve(made.id))


def h13():
    for group in ("oai-cut-after-3", "anth-cut-after-3", "gem-cut-after-3"):
        expect_failed(group)


def h17():
    """An upstream that speaks the API itself."""
    tools = [{"type": "web_search"}]
    answer = responses().create(model="nat", input="hi", tools=tools, include=["web_search_call.action.sources"])
    expect((answer.output_text, answer.status, answer.model), ("pong", "completed", "nat"))
    expect([item.type for item in answer.output], ["web_search_call", "message"])
    sent = last_sent("native--pong")["body"]
    expect((sent["input"], sent["tools"], sent["store"]), ("hi", tools, False))
    expect(responses().retrieve(answer.id).output_text, "pong")
    events = list(responses().create(model="nat-poem", input="hi", stream=True))
    expect([event.sequence_number for event in events], list(range(len(events))))
    expect((events[0].type, events[-1].type), ("response.created", "response.completed"))
    expect(final("nat-poem", input="hi").output_text, POEM)
    first = final("nat-two-tools", input="weather?", tools=[WEATHER])
    calls = [item for item in first.output if item.type == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "7"} for call in calls]
    second = responses().create(model="nat-two-tools", input=outputs, previous_response_id=first.id)
    expect(second.output_text, "It is 7 degrees.")
    for script in ("error-after-3", "cut-after-3", "reset-after-3"):
        expect_failed(group_of("nat", script))


run({"H1": h1, "H2": h2, "H3": h3, "H4": h4, "H5": h5, "H6": h6, "H13": h13, "H17": h17})
