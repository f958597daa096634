"""Measure how fast the page answers 50 people who each change their sentence or the budget once a second.

Prints the quantiles of the answers' times in milliseconds, what one answer costs the server in CPU time, how busy the machine was
before, and how many failed. It starts the server that it asks, on this machine, lets it prepare every stop, and asks for SECONDS.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

CLIENTS, SECONDS = 50, 20
STOPS = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0]
SENTENCES = [
    "can you move my dentist appointment to friday at three",
    "how much money did i spend on groceries last month",
    "turn the lights in the kitchen down a bit",
    "what films with emma stone are on tonight",
    "play some jazz",
    "is there a direct train to leeds after nine",
]


def ask(port: int, question: dict[str, object]) -> None:
    """One change of the page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/api/play", json.dumps(question))
    answer = connection.getresponse()
    written, *views = answer.read().splitlines()
    if answer.status != 200 or not json.loads(written)[0]["texts"] or len(views) != 1:
        raise RuntimeError(f"status {answer.status}")
    connection.close()


def client(port: int, until: float, taken: list[float], failed: list[str]) -> None:
    """One person: a change a second, at times of their own."""
    rng = random.Random()
    time.sleep(rng.random())
    while time.monotonic() < until:
        started = time.monotonic()
        try:
            ask(port, {"text": rng.choice(SENTENCES), "epsilon": rng.choice(STOPS)})
        except (OSError, RuntimeError, ValueError) as error:
            failed.append(type(error).__name__)
        taken.append(time.monotonic() - started)
        time.sleep(max(0.0, started + 1 - time.monotonic()))


def spent(process: "subprocess.Popen[str]") -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def prepared(server: "subprocess.Popen[str]") -> float:
    """Wait until the server has nothing to do any more; returns what it has used."""
    before = spent(server)
    while time.sleep(2) or (now := spent(server)) - before > 0.1:
        before = now
    return now


def main() -> None:
    """Start the page, play, and print."""
    command = [sys.executable, "-m", "adept", "play", "browser=false", "port=8300", "ledger=null"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().split(":")[3].split("/")[0]) if server.stdout else 0
    for epsilon in STOPS:  # every stop was opened once before people come
        ask(port, {"text": SENTENCES[0], "epsilon": epsilon})
    begin, load = prepared(server), os.getloadavg()[0]
    taken: list[float] = []
    failed: list[str] = []
    until = time.monotonic() + SECONDS
    people = [threading.Thread(target=client, args=(port, until, taken, failed)) for _ in range(CLIENTS)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    each = 1000 * (spent(server) - begin) / len(taken)
    server.terminate()
    server.wait()
    taken.sort()
    half, most = (1000 * taken[int(share * len(taken))] for share in (0.5, 0.95))
    print(f"{len(taken)} answers, {len(failed)} failed; median {half:.0f} ms, 95 % within {most:.0f} ms")
    print(f"server: {each:.1f} ms of a processor each; the machine's load was {load:.1f} before")


if __name__ == "__main__":
    main()
