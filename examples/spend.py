"""What an organization spent, by model, with the standard library alone: python3 spend.py.

B is the address of the gateway, TOKEN a log-in (`gw auth token`). Amounts are integers of nano-USD, so they are exact.
"""
import json
import os
import urllib.parse
import urllib.request

BASE = os.environ.get("B", "http://127.0.0.1:4000")
HEADERS = {"Authorization": f"Bearer {os.environ['TOKEN']}"}


def get(path, **query):
    request = urllib.request.Request(f"{BASE}{path}?{urllib.parse.urlencode(query)}", headers=HEADERS)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


for group in get("/api/gw/usage", groupBy="model")["data"]:
    print(f"{group['group']:30} {group['requests']:8} calls {group['cost'] / 1e9:14.9f} USD")
print(f"{'left':30} {'':14} {get('/api/balance')['balance'] / 1e9:14.9f} USD")
