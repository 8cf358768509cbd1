from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from support import expect, expect_that, run, settings

CONNECTION = {"api_key": settings["key"], "base_url": settings["baseUrl"], "use_responses_api": True}


def get_weather(city: str) -> str:
    """The weather of a city."""
    return city


def whole(stream):
    """All chunks merged into one."""
    merged = None
    for chunk in stream:
        merged = chunk if merged is None else merged + chunk
    return merged


def text_of(message):
    return message.content if isinstance(message.content, str) else "".join(part.get("text", "") for part in message.content)


def h7():
    for group in ("oai", "anth", "gem", "bed"):
        message = ChatOpenAI(model=group, **CONNECTION).invoke("hi")
        expect_that(isinstance(message, AIMessage), f"{group} gave {type(message)}")
        expect(text_of(message), "pong", group)
        expect_that(message.usage_metadata["total_tokens"] > 0, f"{group} has no usage")
        poem = whole(ChatOpenAI(model=f"{group}-poem", **CONNECTION).stream("hi"))
        expect(text_of(poem), "".join(f"word{index} " for index in range(20)), group)
        chat = ChatOpenAI(model=f"{group}-two-tools", **CONNECTION).bind_tools([get_weather])
        asked = chat.invoke("hi")
        expect([call["args"]["city"] for call in asked.tool_calls], ["Oslo", "Rome"], group)
        results = [ToolMessage("7", tool_call_id=call["id"]) for call in asked.tool_calls]
        expect(text_of(chat.invoke([HumanMessage("hi"), asked, *results])), "It is 7 degrees.", group)


run({"H7": h7}, version=version("langchain-openai"))
