import openai
from support import Counted, create, expect, expect_that, fails, run, settings


def expect_pong(answer):
    choice = answer.choices[0]
    expect((choice.message.content, choice.finish_reason, choice.message.role), ("pong", "stop", "assistant"))
    expect((answer.object, answer.model), ("chat.completion", "oai"))
    usage = answer.usage
    expect((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (7, 1, 8))
    expect_that(answer._request_id, "no request id")


def a1():
    client = Counted()
    expect_pong(create("oai", client=client))
    expect(client.attempts, 1)


def a2():
    for base in (settings["url"], settings["url"] + "/", settings["baseUrl"] + "/"):
        expect_pong(create("oai", client=Counted(base_url=base)))


def a5():
    client = Counted(api_key=settings["restrictedKey"])
    error = fails(openai.PermissionDeniedError, lambda: create("oai-tools", client=client))
    expect((error.status_code, error.param, client.attempts), (403, "model", 1))


def a7():
    client = Counted().openai
    ids = [model.id for model in client.models.list()]
    expect_that("oai" in ids and len(ids) == len(set(ids)), f"the list is {ids}")
    for name in ("oai", "vendor/name"):
        model = client.models.retrieve(name)
        expect((model.id, model.object), (name, "model"))


def a13():
    raw = Counted().openai.chat.completions.with_raw_response.create(model="oai", messages=[{"role": "user", "content": "ping"}])
    expect_pong(raw.parse())
    expect(raw.headers["x-gw-model-id"], "dep-oai")


run(
    {
        "A1": a1,
        "A2": a2,
        "A5": a5,
        "A7": a7,
        "A8": lambda: fails(openai.NotFoundError, lambda: Counted().openai.models.retrieve("nope")),
        "A10": lambda: expect_pong(
            create("oai", client=Counted(api_key="dummy", default_headers={"x-gw-api-key": settings["key"]}))
        ),
        "A13": a13,
    }
)
