import concurrent.futures
import json
import time

import openai
from support import (
    CHAT_DIALECTS,
    TIME,
    WEATHER,
    Counted,
    create,
    expect,
    expect_that,
    fails,
    group_of,
    last_sent,
    run,
    until,
    user,
)

POEM = "".join(f"word{index} " for index in range(20))
UNICODE = "Grüße, 世界 🌍👩‍👩‍👧 — naïve ₿"
LONG = "".join(f"{index}," for index in range(200))


def collect(group, **more):
    return list(create(group, stream=True, **more))


def text(chunks, choice=0):
    return "".join(part.delta.content or "" for chunk in chunks for part in chunk.choices if part.index == choice)


def helper(group, **more):
    with Counted().openai.chat.completions.stream(model=group, messages=user("hi"), **more) as stream:
        for _event in stream:
            pass
        return stream.get_final_completion().choices[0]


def expect_two_calls(group):
    choice = helper(group, tools=[WEATHER])
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
    expect(calls, [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})], group)
    actual = (choice.finish_reason, choice.message.content, choice.message.role)
    expect(actual, ("tool_calls", "Let me look.", "assistant"), group)


def expect_broken(group):
    chunks = []

    def read():
        for chunk in create(group, stream=True):
            chunks.append(chunk)

    error = fails(openai.APIError, read)
    expect(text(chunks), "one two three ", group)
    expect_that(error.message and error.code and error.type, f"{group} failed with {error!r}")
    expect_that(not isinstance(error, openai.APIConnectionError), f"{group} lost its connection")
    expect([part.finish_reason for chunk in chunks for part in chunk.choices if part.finish_reason], [], group)


def c1():
    for dialect in CHAT_DIALECTS:
        chunks = []
        for chunk in create(group_of(dialect, "poem"), stream=True):
            chunks.append(chunk)
            last = time.monotonic()
        expect_that(time.monotonic() - last < 0.1, f"{dialect} ended late")
        expect((text(chunks), len({chunk.id for chunk in chunks})), (POEM, 1), dialect)


def c2():
    for dialect in CHAT_DIALECTS:
        choice = helper(group_of(dialect, "poem"))
        expect((choice.message.role, choice.message.content, choice.finish_reason), ("assistant", POEM, "stop"), dialect)


def c5():
    for group in ("anth-no-arguments", "bed-no-arguments"):
        expect(helper(group, tools=[TIME]).message.tool_calls[0].function.arguments, "{}", group)


def c7():
    expect([chunk for chunk in collect("oai-poem") if chunk.usage], [])
    chunks = collect("oai-poem", stream_options={"include_usage": True})
    expect(len([chunk for chunk in chunks if chunk.usage]), 1)
    expect((chunks[-1].choices, chunks[-1].usage.total_tokens), ([], 31))


def c11():
    for dialect in ("oai", "anth", "gem", "bed", "oll"):
        expect_broken(group_of(dialect, "reset-after-3"))


def c12():
    """A stream that ends cleanly, but before its dialect's own end."""
    for dialect in ("oai", "anth", "gem", "bed", "oll", "coh", "mis"):
        expect_broken(group_of(dialect, "cut-after-3"))


def c13():
    fails(openai.InternalServerError, lambda: create("oai-first-event-error", client=Counted(max_retries=0), stream=True))
    expect(text(collect("stream-guarded")), "from the fallback")


def c14():
    stream = create("oai-drip", stream=True)
    seen = 0
    for chunk in stream:
        seen += bool(chunk.choices[0].delta.content)
        if seen == 2:
            break
    stream.close()
    until(lambda: last_sent("drip").get("abortedAt"), 1)


def c16():
    expect(text(collect("oai-split-1")), POEM)
    for dialect in ("oai", "anth", "gem", "bed", "coh", "oll"):
        expect(text(collect(group_of(dialect, "split-7"))), POEM, dialect)
    call = helper("oai-split-tools", tools=[WEATHER]).message.tool_calls[0]
    expect(json.loads(call.function.arguments), {"city": "Oslo"})


def c17():
    for dialect in ("oai", "anth", "gem", "bed", "coh", "mis", "oll"):
        expect(text(collect(group_of(dialect, "unicode"))), UNICODE, dialect)


def c20():
    for group in ("oai-thinking", "anth-budget", "gem-thinking", "bed-thinking", "oll-thinking"):
        choice = helper(group)
        expect((choice.message.reasoning_content, choice.message.content), ("Let me think.", "42"), group)


def c22():
    chunks = collect("oai-poem", n=2)
    expect(text(chunks, 0), POEM)
    expect(text(chunks, 1), "".join(f"word{index} #1" for index in range(20)))


def c28():
    client = Counted(max_retries=0)
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        texts = list(pool.map(lambda _: text(collect("oai-long", client=client)), range(200)))
    expect([each for each in texts if each != LONG], [])


def c29():
    """The client does not read: the upstream stops sending when the kernel's buffers are full, far below its whole answer."""
    stream = create("oai-flood", stream=True)
    seen = []

    def stands_still():
        seen.append(last_sent("flood")["bytesSent"])
        time.sleep(0.5)
        return len(seen) > 1 and seen[-1] == seen[-2] > 0

    until(stands_still, 10)
    expect_that(seen[-1] < 80_000_000, f"{seen[-1]} bytes went out")
    stream.close()
    until(lambda: last_sent("flood").get("abortedAt"), 2)


run(
    {
        "C1": c1,
        "C2": c2,
        "C3": lambda: [expect_two_calls(group_of(dialect, "two-tools")) for dialect in ("oai", "anth")],
        "C4": lambda: [expect_two_calls(group_of(dialect, "two-tools")) for dialect in ("bed", "gem", "coh", "oll", "mis", "azu")],
        "C5": c5,
        "C7": c7,
        "C10": lambda: [expect_broken(group_of(dialect, "error-after-3")) for dialect in ("oai", "anth", "gem", "bed", "oll")],
        "C11": c11,
        "C12": c12,
        "C13": c13,
        "C14": c14,
        "C16": c16,
        "C17": c17,
        "C19": lambda: expect(helper("azu-prompt-filter-first").message.content, "one two three four "),
        "C20": c20,
        "C22": c22,
        "C28": c28,
        "C29": c29,
    }
)
