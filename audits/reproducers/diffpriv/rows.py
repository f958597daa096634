"""DiffPriv 1.0.3: lapmech adds noise of the function's sensitivity to every row; randresponse changes two places."""

import io
import json
import tempfile
import urllib.request
from pathlib import Path

urllib.request.urlopen = lambda *a: io.BytesIO(json.dumps({"info": {"version": "1.0.3"}}).encode())  # asked on import
from DiffPriv import diff  # noqa: E402


def released(value):
    name = tempfile.mktemp()
    rows = "\n".join(["30"] * 19 + [str(value)]) + "\n"
    diff.lapmech(io.StringIO(rows), name, 1.0, lambda column: sum(column) / len(column)).close()
    return float(Path(name).read_text().split()[-1].strip(","))


of_30, of_31 = ([released(v) for _ in range(300)] for v in (30.0, 31.0))
print("above 30.5:", sum(y > 30.5 for y in of_30), "times for 30,", sum(y > 30.5 for y in of_31), "for 31, of 300")
assert sum(y > 30.5 for y in of_30) < 15  # e^-5 / 2 of them; for 31 nearly all, where epsilon 1 allows e times as many
assert sum(y > 30.5 for y in of_31) > 285

answers = [0, 0, 1, 1, 0, 1]
diff.randresponse(answers)
print("answers 2 to 5 after randomised response:", answers[2:])
assert answers[2:] == [1, 1, 0, 1]  # `for i in response_list: response_list[i] = ...` uses the answers as places
