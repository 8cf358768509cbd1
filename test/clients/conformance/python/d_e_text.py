import math

import openai
from support import Counted, expect, expect_that, fails, last_sent, run, settings


def complete(client=None, **more):
    return (client or Counted()).openai.completions.create(**{"model": "davinci", "prompt": "say", **more})


def embed(value, client=None, model="text-embedding", **more):
    return (client or Counted()).openai.embeddings.create(model=model, input=value, **more)


def d1():
    answer = complete()
    expect((answer.object, answer.model, answer.choices[0].text), ("text_completion", "davinci", "pong"))
    expect((answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens), (7, 1, 8))


def d2():
    choices = complete(prompt=["one", "two"], n=2).choices
    expect([(choice.index, choice.text) for choice in choices], [(0, "pong"), (1, "pong#1"), (2, "pong#2"), (3, "pong#3")])


def d4():
    chunks = list(complete(model="davinci-poem", stream=True, stream_options={"include_usage": True}))
    parts = [part for chunk in chunks for part in chunk.choices]
    expect("".join(part.text for part in parts), "".join(f"word{index} " for index in range(20)))
    expect([part.finish_reason for part in parts if part.finish_reason], ["stop"])
    expect((chunks[-1].choices, chunks[-1].usage.total_tokens), ([], 31))


def d5():
    logprobs = complete(logprobs=2, echo=True).choices[0].logprobs
    lists = (logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs, logprobs.text_offset)
    expect([len(each) for each in lists], [1, 1, 1, 1])


def e2():
    answer = embed("hello")
    vector = answer.data[0].embedding
    expect(len(vector), 8)
    for index, value in enumerate(vector):
        expect_that(math.isclose(value, math.sin(index + 1), abs_tol=1e-6), f"{index} is {value}")
    expect(answer.usage.total_tokens, 4)


def e5():
    for value, count in (("one", 1), (["one", "two"], 2), ([11, 12, 13], 1), ([[11, 12], [13]], 2)):
        expect([item.index for item in embed(value).data], list(range(count)))
        sent = last_sent("text-embedding-3-small--pong")["body"]["input"]
        expect_that(sent in (value, [value]), f"{value} was sent as {sent}")


def e10():
    for group in ("text-embedding", "gem-embedding", "coh-embedding"):
        expect(len(embed("hi", model=group, dimensions=256).data[0].embedding), 256, group)
    try:
        expect(len(embed("hi", model="oll-embedding", dimensions=256).data[0].embedding), 256)
    except openai.BadRequestError as error:
        expect(error.param, "dimensions")


def e11():
    for value in ("", [], [""], ["x"] * 2049):
        expect(fails(openai.BadRequestError, lambda value=value: embed(value)).param, "input")


def e13():
    client = Counted(base_url=settings["url"] + "/engines/text-embedding")
    expect(len(embed("hello", client=client).data[0].embedding), 8)


run({"D1": d1, "D2": d2, "D4": d4, "D5": d5, "E2": e2, "E5": e5, "E10": e10, "E11": e11, "E13": e13})
