import json
import time

import openai
from support import Counted, expect, expect_that, fails, run

client = Counted().openai


def line(name, model):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
    return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})


def until_ended(batch_id):
    while True:
        batch = client.batches.retrieve(batch_id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        time.sleep(0.1)


def g16():
    text = "\n".join([line(f"id-{index}", "oai") for index in range(20)] + [line("bad", "nobody")])
    file = client.files.create(file=("requests.jsonl", text.encode()), purpose="batch")
    expect((file.object, file.filename, file.bytes), ("file", "requests.jsonl", len(text)))
    expect_that(any(known.id == file.id for known in client.files.list(limit=1)), "the file is listed")
    created = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    batch = until_ended(created.id)
    counts = batch.request_counts
    expect((batch.status, counts.total, counts.completed, counts.failed), ("completed", 21, 20, 1))
    answers = [json.loads(answer) for answer in client.files.content(batch.output_file_id).text.splitlines()]
    expect(sorted(answer["custom_id"] for answer in answers), sorted(f"id-{index}" for index in range(20)))
    broken = client.files.create(file=("broken.jsonl", b"{ not json"), purpose="batch")
    failed = until_ended(client.batches.create(input_file_id=broken.id, endpoint="/v1/chat/completions", completion_window="24h").id)
    expect((failed.status, failed.errors.data[0].line, failed.errors.data[0].code), ("failed", 1, "invalid_json_line"))
    expect(client.files.delete(file.id).deleted, True)
    fails(openai.NotFoundError, lambda: client.files.retrieve(file.id))


run({"G16": g16})
