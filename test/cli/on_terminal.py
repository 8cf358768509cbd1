"""Runs a command on a pseudo-terminal: waits for each text, types its answer, prints what the screen got; exits as the command did.

usage: on_terminal.py '[["Password", "secret\\r"], ...]' command word ...
"""
import json
import os
import pty
import select
import sys
import time

steps = json.loads(sys.argv[1])
deadline = time.monotonic() + 40
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
screen = ""
seen = 0
while True:
    ready, _, _ = select.select([terminal], [], [], 0.1)
    if time.monotonic() > deadline:
        sys.stdout.write(screen)
        sys.exit(f"on_terminal.py: waited in vain for {steps[:1]}")
    if ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        screen += data.decode("utf-8", "replace")
    if steps and steps[0][0] in screen[seen:]:
        seen += screen[seen:].index(steps[0][0]) + len(steps[0][0])
        os.write(terminal, steps.pop(0)[1].encode())
_, status = os.waitpid(child, 0)
sys.stdout.write(screen)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
