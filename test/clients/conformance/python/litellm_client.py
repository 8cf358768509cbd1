import os
from importlib.metadata import version

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network at import

import litellm
from support import expect, expect_that, fails, run, settings, user

litellm.suppress_debug_info = True


def ask(model, key=None, **more):
    return litellm.completion(model=model, messages=user("ping"), api_base=settings["baseUrl"], api_key=key or settings["key"], **more)


def b28():
    for prefix in ("openai", "litellm_proxy"):
        answer = ask(f"{prefix}/oai")
        expect((answer.choices[0].message.content, answer.choices[0].finish_reason), ("pong", "stop"), prefix)
        expect((answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens), (7, 1, 8), prefix)
        expect_that(answer.model.endswith("oai"), f"the model is {answer.model}")
        text = "".join(chunk.choices[0].delta.content or "" for chunk in ask(f"{prefix}/oai-poem", stream=True))
        expect(text, "".join(f"word{index} " for index in range(20)), prefix)
        fails(litellm.AuthenticationError, lambda prefix=prefix: ask(f"{prefix}/oai", key="sk-wrong"))
        fails(litellm.ContextWindowExceededError, lambda prefix=prefix: ask(f"{prefix}/oai-context-error"))
        fails(litellm.ContentPolicyViolationError, lambda prefix=prefix: ask(f"{prefix}/oai-policy-error"))


run({"B28": b28}, version=version("litellm"))
