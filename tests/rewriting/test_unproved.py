"""A mechanism of somebody else reads clipped latents, one a call, and nothing that it says of itself makes it look proved."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from adept.errors import MAX_NAME_LENGTH, ConfigurationError, ModelError, ReleaseRefused
from adept.mechanisms import BY_NAME, L1Laplace, LearnedCodebook, SqrtNLaplace
from adept.mechanisms.guarantee import Guarantee
from adept.release.rewrite_frame import rewrite_frame
from adept.release.statement.verify import Refused, check
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.rewriting.unproved import NOT_CHECKED, Unproved, choice_of, import_kind, kind_of


class Echo:
    """A mechanism that returns what it reads, remembers it, and boasts."""

    name, exact, holds = "l1", True, True
    clip, clip_norm = "l2", 1.0
    unproved = None

    def __init__(self, epsilon: float) -> None:
        self.epsilon, self.read = epsilon, list[Any]()

    def privatize(self, latents: Any) -> Any:
        self.read.append(latents)
        return latents

    def guarantee(self, dim: int) -> Guarantee:
        return Guarantee.pure(epsilon=self.epsilon, exact=True, text="It holds.")

    def certificate(self, dim: int) -> list[Any]:
        return L1Laplace(epsilon=self.epsilon).certificate(dim)


class Boastful(SqrtNLaplace):
    """A subclass of an own mechanism, which keeps its claim, its name and its certificate."""

    def privatize(self, latents: Tensor) -> Tensor:
        return latents


def made(kind: Any, epsilon: float = 4.0) -> Unproved:
    own = kind_of(kind, "theirs:Mine")(epsilon=epsilon)
    assert isinstance(own, Unproved)
    return own


def test_it_reads_one_clipped_latent_a_call_in_an_array_of_its_own() -> None:
    """Batch neighbours, norms beyond the clip, and NaN reach no mechanism; what it writes into its array stays there."""
    own = made(Echo)
    latents = torch.tensor([[3.0, 4.0], [0.1, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
    released, before = own.privatize(latents), latents.clone()
    probe, *read = own.author.read
    assert [tuple(one.shape) for one in read] == [(1, 2)] * 4
    assert all(float(torch.linalg.vector_norm(one)) <= 1 for one in read)
    assert torch.equal(torch.cat(read), own.project(latents).double())
    assert torch.equal(released, own.project(latents))
    assert released.dtype == torch.float32
    assert not probe.isnan().any()
    for one in read:
        one.fill_(7)
    assert torch.equal(latents.nan_to_num(), before.nan_to_num())
    own.privatize(latents.double())
    assert own.author.read[-1].untyped_storage().nbytes() == 2 * 8, "the memory of a row holds no other row"


@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_it_has_the_clip_that_its_class_names(clip: str) -> None:
    own = made(type("Clipped", (Echo,), {"clip": clip}))
    assert (own.clip, own.serves) == (clip, {"l1"} if clip == "l1" else {"l2", "sphere"})
    order = 1 if clip == "l1" else 2
    own.privatize(torch.full((1, 4), 9.0))
    assert float(torch.linalg.vector_norm(own.author.read[-1], ord=order)) == pytest.approx(1, abs=1e-5)


def test_numpy_and_single_precision_are_found_with_a_public_vector() -> None:
    class OnlyNumpy(Echo):
        def privatize(self, latents: Any) -> Any:
            assert isinstance(latents, np.ndarray)
            return super().privatize(latents).tolist()

    assert made(OnlyNumpy).privatize(torch.zeros(2, 3)).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_becomes_zero(bad: float) -> None:
    class Broken(Echo):
        def privatize(self, latents: Any) -> Any:
            return latents * 0 + bad if float(latents[0, 0]) > 0.4 else latents

    assert made(Broken).privatize(torch.ones(1, 2)).tolist() == [[0.0, 0.0]]


def test_an_error_of_its_code_tells_nothing_of_the_record() -> None:
    class Fails(Echo):
        def privatize(self, latents: Any) -> Any:
            if float(latents[0, 0]) > 0.4:
                raise ValueError(f"secret {latents}")
            return latents

    with pytest.raises(ConfigurationError, match=r"theirs:Mine failed on a record \(ValueError\)") as told:
        made(Fails).privatize(torch.tensor([[0.5, 0.0]]))
    assert "secret" not in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"privatize": None}, "must have a method privatize, got NoneType"),
        ({"clip": "cube"}, "clip of theirs:Mine must be one of l1, l2, sphere, got cube"),
        ({"clip_norm": 2.0}, "clip_norm must be that of theirs:Mine, which is 2.0, got 1.0"),
        ({"__init__": lambda self, epsilon: None}, "must have a number epsilon, got none"),
        ({"__init__": lambda self, epsilon: setattr(self, "epsilon", "4")}, "must have a number epsilon, got str"),
        ({"__init__": lambda self, epsilon: setattr(self, "epsilon", 8.0)}, "epsilon must be that of .* 8.0, got 4"),
        ({"__init__": lambda self, epsilon, sigma: None}, r"must take epsilon, and nothing else .*sigma"),
        ({"delta": 2.0}, "must have a number delta, got float"),
        ({"privatize": lambda self, x: x[:, :1]}, "must return as many numbers as it reads, 3, got 1"),
        ({"privatize": lambda self, x: x * math.nan}, r"and fails \(privatize returns numbers that are not finite"),
        ({"privatize": lambda self, x: 1 / 0}, r"must release latents \(1, 3\), and fails \(ZeroDivisionError"),
    ],
)
def test_a_line_says_what_a_class_lacks(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        made(type("Lacking", (Echo,), members)).privatize(torch.zeros(1, 3))


def test_a_class_that_takes_the_radius_gets_that_of_the_model() -> None:
    class Scaled(Echo):
        def __init__(self, epsilon: float, clip_norm: float) -> None:
            super().__init__(epsilon)
            self.clip_norm = clip_norm

    assert kind_of(Scaled, "theirs:Mine")(epsilon=4.0, clip_norm=3.0).author.clip_norm == 3.0


@pytest.mark.parametrize(
    "name", ["l1", "@a:b", "a:", ":b", "a/b:c", "a:b c", "a:b\n", "é:b", f"a:{'b' * MAX_NAME_LENGTH}"]
)
def test_no_other_text_is_a_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match="mechanism must be a name or MODULE:ATTRIBUTE"):
        import_kind(name)


@pytest.mark.parametrize("mechanism", [Echo(4.0), Boastful(epsilon=4.0), made(Echo)])
def test_whatever_it_says_of_itself_its_claim_is_not_checked(tiny_run: Path, mechanism: Any) -> None:
    with pytest.raises(ReleaseRefused, match=f"{NOT_CHECKED}.* add accept_unproved=true"):
        Rewriter.from_pretrained(tiny_run, mechanism=mechanism, accept_broken_claim=True, accept_inexact=True)
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=mechanism, accept_unproved=True)
    promised = rewriter.guarantee
    assert (promised.holds, promised.exact, promised.epsilon) == (None, False, float("inf"))
    assert promised.claimed_epsilon == 4
    assert rewriter.mechanism.certificate(8) is None
    assert ":" in rewriter.mechanism.name
    assert rewriter.mechanism.name not in BY_NAME
    assert len(rewriter.rewrite(["show me flights", ""])) == 2


def test_accepting_an_unproved_claim_accepts_nothing_else(tiny_run: Path) -> None:
    with pytest.raises(ReleaseRefused, match="is false"):
        Rewriter.from_pretrained(tiny_run, mechanism=BY_NAME["original"](epsilon=4.0), accept_unproved=True)
    clipped = choice_of(type("Clipped", (Echo,), {"clip": "l1"})(4.0)).build(clip_norm=1.0)
    with pytest.raises(ModelError, match="the model was trained for clip l2"):
        Rewriter.from_pretrained(tiny_run, mechanism=clipped, accept_unproved=True)
    model, tokenizer = load_model(tiny_run)
    model.training_data = type(model.training_data)(public=False)
    with pytest.raises(ReleaseRefused, match="was not declared public"):
        Rewriter(model, tokenizer, mechanism=Echo(4.0), accept_unproved=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", [Echo(4.0), Boastful(epsilon=4.0)])
def test_a_statement_of_it_says_not_checked_and_is_never_verified(
    tiny_run: Path, tmp_path: Path, mechanism: Any
) -> None:
    place = tmp_path / "s.json"
    options: dict[str, Any] = {"model_dir": str(tiny_run), "mechanism": mechanism, "ledger": "none"}
    with pytest.raises(ReleaseRefused, match=NOT_CHECKED):
        rewrite_frame(["show me flights"], statement=place, **options)
    rewrite_frame(["show me flights"], statement=place, accept_unproved=True, **options)
    said = json.loads(place.read_text())
    assert (said["holds"], said["exact"], said["certificate"], said["epsilon"]) == (None, False, None, "inf")
    assert said["unproved"]["claim"] == NOT_CHECKED
    assert said["unproved"]["module"] == type(mechanism).__module__
    assert len(said["unproved"]["sha256"]) == 64
    assert said["statement_version"] == 3
    assert NOT_CHECKED in said["statement"]
    assert "-LDP" not in said["statement"]
    with pytest.raises(Refused, match="was not checked: its claim is its author's") as told:
        check(str(place))
    assert "holds" not in str(told.value)


def test_a_certificate_beside_an_unproved_claim_is_refused(tmp_path: Path) -> None:
    said = json.loads((Path(__file__).parents[1] / "specimens" / "local-3.privacy.json").read_text())
    for claim in ({"claim": NOT_CHECKED}, {}, False, "proved"):
        (tmp_path / "s.json").write_text(json.dumps(said | {"unproved": claim}))
        with pytest.raises(Refused, match="not checked"):
            check(str(tmp_path / "s.json"))


def test_every_mechanism_of_adept_is_still_its_own(topic_run: Path) -> None:
    assert all(kind.unproved.fget(None) is None for kind in BY_NAME.values())  # type: ignore[attr-defined]
    rewriter = Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=8.0))
    assert type(rewriter.mechanism) is LearnedCodebook
    assert rewriter.guarantee.holds is True


def test_the_digest_is_that_of_the_file_which_defines_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "inner_63.py").write_text("class Mine:\n    epsilon = 1.0\n    def privatize(self, x): return x\n")
    (tmp_path / "outer_63.py").write_text("from inner_63 import Mine\n__version__ = '1.2\\n3'\n")
    origin = import_kind("outer_63:Mine").origin
    assert origin["sha256"] == hashlib.sha256((tmp_path / "inner_63.py").read_bytes()).hexdigest()
    assert (origin["module"], origin["attribute"], origin["version"]) == ("outer_63", "Mine", "1.2\\n3")
