import time

import openai
from support import WEATHER, Counted, expect, expect_in, expect_that, fails, run, sent, until

POEM = "".join(f"word{index} " for index in range(20))
TEXT_EVENTS = [
    "thread.run.created",
    "thread.run.queued",
    "thread.run.in_progress",
    "thread.run.step.created",
    "thread.run.step.in_progress",
    "thread.message.created",
    "thread.message.in_progress",
    "thread.message.delta",
    "thread.message.completed",
    "thread.run.step.completed",
    "thread.run.completed",
]
client = Counted()
beta = client.openai.beta


def place(model, **more):
    assistant = beta.assistants.create(model=model, **more)
    thread = beta.threads.create(messages=[{"role": "user", "content": "hi"}])
    return {"assistant_id": assistant.id, "thread_id": thread.id}


def text(message):
    return "".join(block.text.value for block in message.content)


def answers(thread_id):
    return [text(message) for message in beta.threads.messages.list(thread_id, order="asc") if message.role == "assistant"]


def outputs(waiting):
    return [{"tool_call_id": call.id, "output": "7 degrees"} for call in waiting.required_action.submit_tool_outputs.tool_calls]


def stretches(names):
    return [name for index, name in enumerate(names) if index == 0 or name != names[index - 1]]


def g1():
    made = beta.assistants.create(model="oai", name="Ada", instructions="Be kind.")
    expect((made.object, made.name, made.tools, made.metadata, made.temperature), ("assistant", "Ada", [], {}, None))
    expect_in(made.id, [each.id for each in beta.assistants.list()])
    gone = beta.assistants.delete(made.id)
    expect((gone.object, gone.deleted), ("assistant.deleted", True))


def g2():
    made = [beta.assistants.create(model="oai").id for _ in range(45)]
    before = client.attempts
    seen = []
    for each in beta.assistants.list(limit=20):
        seen.append(each.id)
        if len(seen) == 45:
            break
    expect(seen, made[::-1])
    expect(client.attempts - before, 3)


def g4():
    expect(beta.threads.create().object, "thread")
    messages = [{"role": "user", "content": content} for content in ("one", "two", "three")]
    thread = beta.threads.create(messages=messages)
    expect([text(message) for message in beta.threads.messages.list(thread.id, order="asc")], ["one", "two", "three"])


def g5():
    thread = beta.threads.create()
    beta.threads.messages.create(thread.id, role="user", content="plain")
    beta.threads.messages.create(thread.id, role="assistant", content=[{"type": "text", "text": "in parts"}])
    listed = [(message.role, text(message)) for message in beta.threads.messages.list(thread.id, order="asc")]
    expect(listed, [("user", "plain"), ("assistant", "in parts")])


def g6():
    for model in ("oai-poem", "anth-poem", "gem-poem"):
        where = place(model)
        done = beta.threads.runs.create_and_poll(**where)
        expect((done.status, answers(where["thread_id"])), ("completed", [POEM]), model)
    done = beta.threads.create_and_run_poll(assistant_id=where["assistant_id"], thread={"messages": [{"role": "user", "content": "hi"}]})
    expect(done.status, "completed")


def g7():
    for model in ("oai-two-tools", "anth-two-tools"):
        where = place(model, tools=[WEATHER])
        waiting = beta.threads.runs.create_and_poll(**where)
        expect((waiting.status, len(outputs(waiting))), ("requires_action", 2), model)
        done = beta.threads.runs.submit_tool_outputs_and_poll(run_id=waiting.id, thread_id=where["thread_id"], tool_outputs=outputs(waiting))
        expect((done.status, answers(where["thread_id"])), ("completed", ["Let me look.", "It is 7 degrees."]), model)


def g8():
    where = place("oai-poem")
    with beta.threads.runs.stream(**where) as stream:
        names, said = [], ""
        for event in stream:
            names.append(event.event)
            if event.event == "thread.message.delta":
                said += event.data.delta.content[0].text.value
        [message] = stream.get_final_messages()
    expect(stretches(names), TEXT_EVENTS)
    expect((said, text(message)), (POEM, POEM))


def g9():
    where = place("oai-tools", tools=[WEATHER])
    with beta.threads.runs.stream(**where) as stream:
        waiting = stream.get_final_run()
    expect(waiting.status, "requires_action")
    with beta.threads.runs.submit_tool_outputs_stream(
        run_id=waiting.id, thread_id=where["thread_id"], tool_outputs=outputs(waiting)
    ) as stream:
        said = "".join(stream.text_deltas)
        expect(stream.get_final_run().status, "completed")
    expect(said, "It is 7 degrees.")


def g10():
    where = place("oai-drip")
    active = beta.threads.runs.create(**where)
    fails(openai.BadRequestError, lambda: beta.threads.messages.create(where["thread_id"], role="user", content="wait"))
    fails(openai.BadRequestError, lambda: beta.threads.runs.create(**where))
    beta.threads.runs.cancel(active.id, thread_id=where["thread_id"])


def g11():
    where = place("oai-drip")
    active = beta.threads.runs.create(**where)
    time.sleep(0.5)
    expect_in(beta.threads.runs.cancel(active.id, thread_id=where["thread_id"]).status, ["cancelling", "cancelled"])
    expect(beta.threads.runs.poll(active.id, thread_id=where["thread_id"]).status, "cancelled")
    until(lambda: sent("drip")[-1].get("abortedAt"), 1)
    expect_that(fails(openai.BadRequestError, lambda: beta.threads.runs.cancel(active.id, thread_id=where["thread_id"])), "cancelled twice")


def g13():
    where = place("oai-cut-short")
    cut = beta.threads.runs.create_and_poll(**where, max_completion_tokens=256)
    expect((cut.status, cut.incomplete_details.reason), ("incomplete", "max_completion_tokens"))


run({"G1": g1, "G2": g2, "G4": g4, "G5": g5, "G6": g6, "G7": g7, "G8": g8, "G9": g9, "G10": g10, "G11": g11, "G13": g13})
