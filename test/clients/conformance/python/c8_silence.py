from support import create, expect, run


def c8():
    chunks = list(create("oai-slow-first-token", stream=True))
    expect("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "late but here")


run({"C8": c8})
