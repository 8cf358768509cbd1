"""The test that started this script restarts the gateway once the upstream has received the request of the run."""

from support import Counted, expect, expect_in, run

beta = Counted(max_retries=8).openai.beta


def g14():
    assistant = beta.assistants.create(model="oai-drip")
    thread = beta.threads.create(messages=[{"role": "user", "content": "hi"}])
    made = beta.threads.runs.create(thread.id, assistant_id=assistant.id)
    ended = beta.threads.runs.poll(made.id, thread_id=thread.id)
    expect_in(ended.status, ["completed", "failed", "expired"])
    answers = [message for message in beta.threads.messages.list(thread.id) if message.role == "assistant"]
    expect(len(answers), 1 if ended.status == "completed" else 0)


run({"G14": g14})
