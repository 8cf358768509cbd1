"""Answers every line of a text file in one batch: python3 batch.py questions.txt (pip install openai).

B is the address of the gateway, KEY an API key, MODEL any chat model of it. The batch goes on if this program or an edge of the gateway is stopped.
"""
import io
import json
import os
import sys
import time

from openai import OpenAI

client = OpenAI(base_url=os.environ.get("B", "http://127.0.0.1:4000") + "/v1", api_key=os.environ["KEY"])
model = os.environ.get("MODEL", "echo")


def line_of(number, question):
    body = {"model": model, "messages": [{"role": "user", "content": question}]}
    return json.dumps({"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body})


with open(sys.argv[1]) as file:
    questions = [line.strip() for line in file if line.strip()]
lines = "\n".join(line_of(number, question) for number, question in enumerate(questions))
uploaded = client.files.create(purpose="batch", file=("questions.jsonl", io.BytesIO(lines.encode())))
batch = client.batches.create(input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h")
while batch.status not in ("completed", "failed", "cancelled", "expired"):
    time.sleep(0.5)
    batch = client.batches.retrieve(batch.id)
if batch.output_file_id is None:
    sys.exit(f"the batch is {batch.status}: {batch.errors}")
answers = {}
for line in client.files.content(batch.output_file_id).text.splitlines():
    answer = json.loads(line)
    answers[int(answer["custom_id"])] = answer["response"]["body"]["choices"][0]["message"]["content"]
for number, question in enumerate(questions):
    print(f"{question}\n  {answers.get(number, 'failed; see the error file of the batch')}")
