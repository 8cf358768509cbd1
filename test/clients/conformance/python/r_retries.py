import time

import openai
from support import Counted, create, expect, expect_that, fails, last_sent, run, sent, settings, until, user


def raw(model, client=None):
    return (client or Counted()).openai.chat.completions.with_raw_response.create(model=model, messages=user("hi"))


def r1():
    """The client waits as long as the answer's retry-after says, at most a minute, and then succeeds without further help."""
    impatient = Counted(api_key=settings["limitedKey"], max_retries=0)

    def spend():
        for _call in range(5):
            create("oai", client=impatient)

    error = fails(openai.RateLimitError, spend)
    wait = float(error.response.headers["retry-after"])
    expect_that(1 <= wait <= 60, f"retry-after {wait}")
    patient = Counted(api_key=settings["limitedKey"], max_retries=3)
    started = time.monotonic()
    expect(create("oai", client=patient).choices[0].message.content, "pong")
    expect_that(patient.attempts >= 2, "it was not refused again")
    expect_that(time.monotonic() - started >= wait - 1.5, "it did not wait")


def r2():
    blocked = Counted(api_key=settings["blockedKey"])
    denied = fails(openai.PermissionDeniedError, lambda: create("oai", client=blocked))
    expect((denied.code, blocked.attempts), ("TEAM_BLOCKED", 1))
    empty = Counted(api_key=settings["emptyKey"])
    over = fails(openai.RateLimitError, lambda: create("oai", client=empty))
    expect((over.code, over.response.headers["x-should-retry"], empty.attempts), ("QUOTA_EXCEEDED", "false", 1))


def r4():
    client = Counted()
    answer = raw("oai-error-500-once", client)
    expect((answer.parse().choices[0].message.content, client.attempts), ("pong", 1))
    expect(answer.headers["x-gw-attempted-retries"], "1")


def r5():
    answer = raw("busy-guarded")
    expect(answer.parse().choices[0].message.content, "from the fallback")
    expect(answer.headers["x-gw-model-id"], "dep-oai-other")


def r7():
    started = time.monotonic()
    error = fails(openai.APIStatusError, lambda: create("hang-2s", client=Counted(max_retries=0)))
    expect((error.status_code, error.type), (408, "timeout_error"))
    expect_that(time.monotonic() - started < 2.5, "it took too long")


def r8():
    fails(openai.APITimeoutError, lambda: create("oai-hang", client=Counted(max_retries=0, timeout=1)))
    until(lambda: last_sent("hang").get("abortedAt"), 1)


def r10():
    for _call in range(2):
        error = fails(openai.InternalServerError, lambda: create("key-refused", client=Counted(max_retries=0)))
        expect(error.status_code, 503)
        expect_that("API key" not in error.message, "the provider's words came through")
    expect(len(sent("refused--auth-error")), 1)


def r11():
    expect(create("policy-guarded").choices[0].message.content, "from the fallback")
    client = Counted()
    before = len(sent("policy-error"))
    error = fails(openai.BadRequestError, lambda: create("oai-policy-error", client=client))
    expect((error.code, client.attempts, len(sent("policy-error")) - before), ("content_policy_violation", 1, 1))


run({"R2": r2, "R4": r4, "R5": r5, "R7": r7, "R8": r8, "R10": r10, "R11": r11, "R1": r1})
