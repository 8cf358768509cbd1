import os
from importlib.metadata import files, version

# The tokenizer's table is fetched from the network at first use; litellm carries a copy in its cache's form.
[table] = [file for file in files("litellm") if str(file).endswith("tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4")]
os.environ["TIKTOKEN_CACHE_DIR"] = str(table.locate().parent)

from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from support import expect, expect_that, last_sent, run, settings

CONNECTION = {"api_key": settings["key"], "base_url": settings["baseUrl"]}


def get_weather(city: str) -> str:
    """The weather of a city."""
    return city


def whole(stream):
    """All chunks merged into one."""
    merged = None
    for chunk in stream:
        merged = chunk if merged is None else merged + chunk
    return merged


def c25():
    for group in ("oai-two-tools", "anth-two-tools", "gem-two-tools", "bed-two-tools"):
        chat = ChatOpenAI(model=group, stream_usage=True, **CONNECTION).bind_tools([get_weather])
        message = whole(chat.stream("hi"))
        calls = [(call["name"], call["args"]) for call in message.tool_calls]
        expect(calls, [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})], group)
        usage = message.usage_metadata
        expect((usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]), (20, 9, 29), group)


def c26():
    message = whole(ChatOpenAI(model="oai-poem", **CONNECTION).stream("hi"))
    expect(message.content, "".join(f"word{index} " for index in range(20)))
    expect(message.usage_metadata, None)


def d7():
    expect(OpenAI(model="davinci", **CONNECTION).invoke("say"), "pong")
    expect_that(last_sent("davinci-002--pong")["body"]["prompt"] in ("say", ["say"]), "another prompt was sent")


def e7():
    vectors = OpenAIEmbeddings(model="text-embedding", **CONNECTION).embed_documents(["hello world", "b", "c"])
    expect([len(vector) for vector in vectors], [8, 8, 8])
    expect(last_sent("text-embedding-3-small--pong")["body"]["input"], [[15339, 1917], [65], [66]])


def e8():
    vectors = OpenAIEmbeddings(model="text-embedding", check_embedding_ctx_length=False, **CONNECTION).embed_documents(["a", "b", "c"])
    expect([len(vector) for vector in vectors], [8, 8, 8])


run({"C25": c25, "C26": c26, "D7": d7, "E7": e7, "E8": e8}, version=version("langchain-openai"))
