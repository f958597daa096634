"""DiffPriv 1.0.3: Laplace noise for a column of a file, and randomised response."""

PACKAGE, VERSION = "DiffPriv", "1.0.3"
INSTALLS = (("DiffPriv==1.0.3", "numpy==2.4.6"),)


class Base:
    def __init__(self, factor):
        import io
        import json
        import urllib.request

        answer = json.dumps({"info": {"version": "1.0.3"}}).encode()  # it asks for its latest version on import
        urllib.request.urlopen = lambda *a, **k: io.BytesIO(answer)
        import DiffPriv

        self.diff = DiffPriv.diff
        self.eps = self.claim["epsilon"] * factor


class Laplace(Base):
    """A file of 20 numbers, one of which is the record; neighbours differ by one, as the package's sensitivity has it.

    The function named for the sensitivity is the mean.
    """

    says = (
        "This is the name of the file that the privatized data will go into ... epsilon allows us to quantify privacy loss",
        "diff.py, lapmech",
    )
    claim, expected = (
        {"epsilon": 1.0, "alphabet": [30.0, 31.0]},
        "violated: distribution (noise of the mean's sensitivity on every row)",
    )
    trials = 2000

    def privatize(self, values):
        import io
        import tempfile
        from pathlib import Path

        out = []
        for v in values:
            name = Path(tempfile.mkdtemp()) / "released"
            f = self.diff.lapmech(
                io.StringIO("\n".join(["30"] * 19 + [str(v)]) + "\n"), str(name), self.eps, lambda x: sum(x) / len(x)
            )
            f.close()
            out.append(float(name.read_text().split()[-1].strip(",")))
            name.unlink()
            name.parent.rmdir()
        return out


class Exponential(Base):
    """A file of 19 answers, one of which is the record; the utility of 0 or 1 is how many rows hold it."""

    says = (
        "This is the name of the file that the privatized data will go into ... epsilon allows us to quantify privacy loss",
        "diff.py, expmech",
    )
    claim, expected, trials = {"epsilon": 1.0, "alphabet": [0, 1]}, "sound", 2000

    def privatize(self, values):
        import io
        import tempfile
        from pathlib import Path

        out = []
        for v in values:
            name = Path(tempfile.mkdtemp()) / "released"
            rows = "\n".join(["0"] * 9 + ["1"] * 9 + [str(v)])
            f = self.diff.expmech(io.StringIO(rows + "\n"), str(name), self.eps, lambda x, k: x.count(k), [0, 1])
            f.close()
            out.append(int(name.read_text().split()[0].strip(",")))
            name.unlink()
            name.parent.rmdir()
        return out


class Response(Base):
    """The answer of the third person of five; no epsilon is stated, so any finite one is claimed."""

    budget = "ours"
    says = (
        "Random uses the Random Response mechanism. Random Response is a simple differential privacy algorithm.",
        "diff.py, randresponse",
    )
    claim, expected = (
        {"epsilon": 3.0, "alphabet": [0, 1]},
        "violated: randomness (answers are used as places, so most are released as they are)",
    )
    trials = 3000

    def privatize(self, values):
        out = []
        for v in values:
            answers = [1, 0, v, 1, 0]
            self.diff.randresponse(answers)
            out.append(answers[2])
        return out
