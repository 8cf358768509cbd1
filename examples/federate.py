"""Federated averaging by hand, with the standard library alone: ten participants, each with a tenth of the digits."""
import json
import os
import sys
import urllib.request

NODE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:5000"
HEADERS = {"Authorization": f"Bearer {os.environ['TRAINER_TOKEN']}"} if "TRAINER_TOKEN" in os.environ else {}


def call(path, **body):
    request = urllib.request.Request(NODE + path, json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


model = None
for number in range(1, 16):
    config = {"epochs": 5, "batch_size": 10, "lr": 0.3, "seed": number}
    parts = []
    for index in range(10):
        dataset = {"name": "digits", "partition": {"scheme": "iid", "index": index, "of": 10}}
        parts.append(call("/train", parameters=model, dataset=dataset, config=config))
    model = call("/aggregate", parameters_list=[part["parameters"] for part in parts],
                 weights=[part["num_samples"] for part in parts], strategy={"name": "fedavg"})["parameters"]
    accuracy = call("/evaluate", parameters=model, dataset="digits")["accuracy"]
    print(f"round {number}: accuracy {accuracy:.4f}", flush=True)
