import json
import os
import urllib.request
from importlib.metadata import files, version

# The tables are fetched from the network at first use; litellm carries copies in the form of tiktoken's cache.
[table] = [file for file in files("litellm") if str(file).endswith("tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4")]
os.environ["TIKTOKEN_CACHE_DIR"] = str(table.locate().parent)

import tiktoken
from support import expect, run, settings

TEXTS = [
    "hello world",
    "  leading and trailing  \n\n\ttabs\r\n",
    "def f(x):\n    return {'a': [1, 2.5e-10, None], \"b\": x ** 2}\n" * 20,
    "Grüße, 世界 🌍👩‍👩‍👧 — naïve ₿ عربى हिन्दी",
    "don't we'll I'M they'Ve 1234567890 12345.678",
    "<|im_start|>user<|endoftext|> are only words here",
]


def count(model, prompt):
    headers = {"x-gw-api-key": settings["key"], "content-type": "application/json"}
    body = json.dumps({"model": model, "prompt": prompt}).encode()
    request = urllib.request.Request(settings["url"] + "/utils/token_counter", body, headers)
    return json.load(urllib.request.urlopen(request))["total_tokens"]


def u1():
    for model in ("gpt-4", "gpt-4o", "gpt-3.5-turbo", "gpt-4.1"):
        encoding = tiktoken.encoding_for_model(model)
        for text in TEXTS:
            expect(count(model, text), len(encoding.encode(text, disallowed_special=())), f"{model} {text[:30]!r}")


run({"U1": u1}, version=version("tiktoken"))
