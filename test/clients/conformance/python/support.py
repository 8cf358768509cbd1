"""What every script of this folder shares: the settings of the bench, a look into the upstream's log, and one JSON line for each case."""

import json
import sys
import time
import traceback
import urllib.parse
import urllib.request

import openai

settings = json.load(sys.stdin)
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
TIME = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}}
PREFIX = {
    "oai": "",
    "azu": "",
    "anth": "claude-3-5-sonnet-20241022--",
    "gem": "gemini-2.5-flash--",
    "bed": "anthropic.claude-3-5-sonnet-20241022-v2:0--",
    "coh": "command-a-03-2025--",
    "mis": "mistral-large-latest--",
    "oll": "llama3.2--",
    "dee": "deepseek-chat--",
    "nat": "native--",
}
CHAT_DIALECTS = ["oai", "azu", "anth", "gem", "bed", "coh", "mis", "oll"]


class Counted:
    """An official client, and how often it went to the wire."""

    def __init__(self, **options):
        self.attempts = 0
        wire = openai.DefaultHttpxClient(event_hooks={"request": [self._count]})
        options = {"api_key": settings["key"], "base_url": settings["baseUrl"], "http_client": wire, **options}
        self.openai = openai.OpenAI(**options)

    def _count(self, _request):
        self.attempts += 1


def create(model, messages=None, client=None, **more):
    return (client or Counted()).openai.chat.completions.create(model=model, messages=messages or user("hi"), **more)


def user(content):
    return [{"role": "user", "content": content}]


def group_of(dialect, script="pong"):
    return dialect if script == "pong" else f"{dialect}-{script}"


def upstream_model(dialect, script="pong"):
    return PREFIX[dialect] + script


def sent(model):
    """Every request that the upstream got for a model."""
    address = f"{settings['upstreamUrl']}/__requests?model={urllib.parse.quote(model, safe='')}"
    return json.load(urllib.request.urlopen(address))


def last_sent(model):
    return sent(model)[-1]


def expect(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what}{' ' if what else ''}{actual!r} is not {expected!r}")


def expect_in(actual, allowed):
    if actual not in allowed:
        raise AssertionError(f"{actual!r} is not among {allowed!r}")


def expect_that(holds, what):
    if not holds:
        raise AssertionError(what)


def fails(kind, work):
    """The error of a kind that the work ends with."""
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"it did not fail with {kind.__name__}")


def until(holds, seconds):
    end = time.monotonic() + seconds
    while not holds():
        expect_that(time.monotonic() < end, f"did not hold within {seconds} s")
        time.sleep(0.01)


def run(cases, version=openai.__version__):
    print(json.dumps({"version": version}), flush=True)
    for name, work in cases.items():
        try:
            work()
            result = {"id": name, "ok": True}
        except BaseException as problem:  # a case that fails must not hide the others
            where = traceback.extract_tb(problem.__traceback__)[-1].lineno
            result = {"id": name, "ok": False, "problem": f"{type(problem).__name__}: {problem} (line {where})"[:1500]}
        print(json.dumps(result), flush=True)
