"""The official Python client against a running gateway; prints one JSON line for each case, like {"id": "chat", "ok": true}."""

import json
import sys

import openai

settings = json.load(sys.stdin)
MESSAGES = [{"role": "user", "content": "one two three"}]
attempts = 0


def count_attempt(_request):
    global attempts
    attempts += 1


def client(key, base_url=None, headers=None):
    global attempts
    attempts = 0
    wire = openai.DefaultHttpxClient(event_hooks={"request": [count_attempt]})
    base = base_url or settings["baseUrls"][1]
    return openai.OpenAI(api_key=key, base_url=base, max_retries=2, default_headers=headers, http_client=wire)


def good(**options):
    return client(settings["key"], **options)


def chat(sender, **more):
    return sender.chat.completions.create(model="echo", messages=MESSAGES, **more)


def expect(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def expect_content(answer):
    expect(answer.choices[0].message.content, "one two three")


def expect_failure(kind, status, code, work, once=True):
    try:
        work()
    except openai.APIStatusError as error:
        expect(type(error).__name__, kind)
        expect((error.status_code, error.code), (status, code))
        if once:
            expect(attempts, 1)
        return
    raise AssertionError("it did not fail")


def case_chat():
    answer = chat(good())
    expect_content(answer)
    expect((answer.object, answer.model, answer.choices[0].finish_reason), ("chat.completion", "echo", "stop"))
    expect((answer.usage.prompt_tokens, answer.usage.completion_tokens), (3, 3))
    expect(attempts, 1)


def case_stream():
    chunks = list(chat(good(), stream=True))
    expect("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "one two three")
    expect([chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason], ["stop"])


def case_stream_helper():
    with good().chat.completions.stream(model="echo", messages=MESSAGES) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        whole = stream.get_final_completion()
    expect("".join(deltas), "one two three")
    expect_content(whole)
    expect(whole.choices[0].finish_reason, "stop")


def case_stream_usage():
    chunks = list(chat(good(), stream=True, stream_options={"include_usage": True}))
    expect(len([chunk for chunk in chunks if chunk.usage]), 1)
    last = chunks[-1]
    expect((last.choices, last.usage.prompt_tokens, last.usage.completion_tokens), ([], 3, 3))
    expect((last.usage.cost_nano, last.cost_nano), (9000, 9000))


def case_models_retrieve():
    model = good().models.retrieve("echo")
    expect((model.id, model.object, model.owned_by), ("echo", "model", "echo"))


def case_unknown_model():
    create = lambda: good().chat.completions.create(model="no-such-model", messages=MESSAGES)
    expect_failure("NotFoundError", 404, "model_not_found", create)
    expect_failure("NotFoundError", 404, "model_not_found", lambda: good().models.retrieve("no-such-model"))


def case_max_tokens():
    for limit in ({"max_tokens": 2}, {"max_completion_tokens": 2}):
        answer = chat(good(), **limit)
        expect((answer.choices[0].message.content, answer.choices[0].finish_reason), ("one two", "length"))
        expect(answer.usage.completion_tokens, 2)


def case_default_headers():
    headers = {"x-gw-api-key": settings["key"]}
    expect_content(chat(client("dummy", headers=headers)))
    expect_content(chat(client("dummy", base_url=settings["hostedBaseUrl"], headers=headers)))


CASES = {
    "base-url-plain": lambda: expect_content(chat(good(base_url=settings["baseUrls"][0]))),
    "base-url-v1": lambda: expect_content(chat(good(base_url=settings["baseUrls"][1]))),
    "chat": case_chat,
    "stream": case_stream,
    "stream-helper": case_stream_helper,
    "stream-usage": case_stream_usage,
    "models-list": lambda: expect([model.id for model in good().models.list()], ["echo"]),
    "models-retrieve": case_models_retrieve,
    "wrong-key": lambda: expect_failure("AuthenticationError", 401, "invalid_api_key", lambda: chat(client("sk-wrong"))),
    "unknown-model": case_unknown_model,
    "blocked-team": lambda: expect_failure(
        "PermissionDeniedError", 403, "TEAM_BLOCKED", lambda: chat(client(settings["blockedKey"]))
    ),
    "quota": lambda: expect_failure("RateLimitError", 429, "QUOTA_EXCEEDED", lambda: chat(client(settings["emptyKey"]))),
    "max-tokens": case_max_tokens,
    "default-headers": case_default_headers,
}

print(json.dumps({"version": openai.__version__}), flush=True)
for name, work in CASES.items():
    try:
        work()
        result = {"id": name, "ok": True}
    except Exception as problem:  # a case that fails must not hide the others
        result = {"id": name, "ok": False, "problem": f"{type(problem).__name__}: {problem}"}
    print(json.dumps(result), flush=True)
