"""One way to open a rewriter: budgets are shared at one place, and what must not be released is refused for everyone."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tiny import tiny_config

from adept.cli import train
from adept.data.corpus import TrainingDataConfig
from adept.errors import ConfigurationError, ModelError, ReleaseRefused
from adept.mechanisms import BY_NAME, Description, Identity, L1Laplace, LearnedCodebook, OriginalLaplace, SqrtNLaplace
from adept.mechanisms.base import MechanismChoice
from adept.release.flow.local import open_release, release_file
from adept.release.options import CentralOptions, ReleaseRequest
from adept.release.records import ReleaseOptions
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

PERSON = {"epsilon_per": "person", "person_column": "who"}
AS_ONE = {"labels": "joint_response", "label_set": ["a", "b"]}


def opened(model_dir: Path, **options: Any) -> Rewriter:
    return open_release(ReleaseRequest(model_dir=str(model_dir), **options))[0]


@pytest.mark.parametrize(
    ("given", "with_mechanism"),
    [(8.0, None), (None, 8.0), (8.0, 8.0)],
)
def test_a_persons_budget_is_shared_wherever_it_was_given(
    tiny_run: Path, given: float | None, with_mechanism: float | None
) -> None:
    choice = MechanismChoice(SqrtNLaplace, epsilon=with_mechanism)
    part = opened(tiny_run, epsilon=given, mechanism=choice, max_records_per_person=3, **PERSON).guarantee.epsilon
    assert 3 * Fraction(part) <= 8
    assert part == pytest.approx(8 / 3)


def test_two_budgets_are_refused_and_so_is_none(tiny_run: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon must be given once, got 4\.0 and 8\.0"):
        opened(tiny_run, epsilon=4.0, mechanism=MechanismChoice(SqrtNLaplace, epsilon=8.0))
    with pytest.raises(ConfigurationError, match="epsilon must be given"):
        opened(tiny_run)


def test_half_a_budget_for_persons_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_records_per_person must be given"):
        ReleaseRequest(epsilon=1.0, epsilon_per="person")
    with pytest.raises(ConfigurationError, match="epsilon_per must be record or person, got household"):
        ReleaseRequest(epsilon=1.0, epsilon_per="household")


@pytest.mark.parametrize("kind", [ReleaseRequest, ReleaseOptions, CentralOptions])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"person_column": 0, "max_records_per_person": 1}, "person_column must be text, got int"),
        ({"person_column": False, "max_records_per_person": 1}, "person_column must be text, got bool"),
        ({"label_column": 0}, "label_column must be text, got int"),
        ({"report": "false"}, "report must be True or False, got str"),
    ],
)
def test_options_of_another_type_are_refused_and_not_read_as_true_or_missing(
    kind: type[Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        kind(**given)


def test_only_true_permits_what_is_refused(tiny_run: Path) -> None:
    with pytest.raises(ConfigurationError, match="again must be True or False, got str"):
        ReleaseRequest(epsilon=1.0, again="false")  # type: ignore[arg-type]
    with pytest.raises(ReleaseRefused, match="accept_broken_claim=true"):
        Rewriter.from_pretrained(tiny_run, mechanism=OriginalLaplace(epsilon=8.0), accept_broken_claim="false")


def test_labels_get_their_share_too(tiny_run: Path) -> None:
    budget = {"epsilon": 8.0, "label_epsilon": 2.0, "max_records_per_person": 4, **PERSON}
    asked = {"model_dir": str(tiny_run), "labels": "randomized_response", "label_set": ["a", "b"]}
    _, options = open_release(ReleaseRequest(**asked, **budget))
    assert options.label_response is not None
    assert options.label_response.epsilon == 0.5
    with pytest.raises(ConfigurationError, match="label_epsilon must be chosen"):
        open_release(ReleaseRequest(**asked, epsilon=1.0))
    with pytest.raises(ConfigurationError, match="label_set must name"):
        open_release(ReleaseRequest(**{**asked, "label_set": []}, **budget))


def test_text_and_label_as_one_symbol_share_one_budget_and_need_a_finite_alphabet(
    tiny_run: Path, tiny_l1_run: Path
) -> None:
    joint = opened(tiny_run, epsilon=8.0, max_records_per_person=4, **PERSON, **AS_ONE)
    assert joint.guarantee.epsilon == joint.joint.epsilon == 2.0
    assert isinstance(joint.mechanism, LearnedCodebook)
    described = opened(tiny_run, epsilon=12.0, **AS_ONE)
    assert isinstance(described.mechanism, Description)
    with pytest.raises(ConfigurationError, match="label_epsilon must be left out for labels=joint_response"):
        opened(tiny_run, epsilon=8.0, label_epsilon=2.0, **AS_ONE)
    with pytest.raises(ConfigurationError, match="label_set must name"):
        opened(tiny_run, epsilon=8.0, labels="joint_response")
    with pytest.raises(ConfigurationError, match="mechanism must be learned_codebook or description"):
        opened(tiny_l1_run, epsilon=8.0, **AS_ONE)


def test_without_a_mechanism_the_best_exact_one_is_taken(tiny_run: Path, tiny_l1_run: Path) -> None:
    assert isinstance(opened(tiny_run, epsilon=4.0).mechanism, LearnedCodebook)
    assert isinstance(opened(tiny_l1_run, epsilon=4.0).mechanism, L1Laplace)


def test_from_a_budget_of_ten_on_a_record_is_described(tiny_run: Path, tiny_l1_run: Path) -> None:
    """A record's own share of the budget decides."""
    assert isinstance(opened(tiny_run, epsilon=10.0).mechanism, Description)
    assert isinstance(opened(tiny_run, epsilon=16.0, max_records_per_person=4, **PERSON).mechanism, LearnedCodebook)
    assert isinstance(opened(tiny_l1_run, epsilon=16.0).mechanism, L1Laplace)


def test_a_model_that_does_not_fit_is_refused(tiny_l1_run: Path) -> None:
    with pytest.raises(ModelError, match="trained for clip l1"):
        opened(tiny_l1_run, epsilon=4.0, mechanism=MechanismChoice(SqrtNLaplace))


@pytest.mark.parametrize(
    ("name", "flag"),
    [("original", "accept_broken_claim"), ("identity", "accept_broken_claim"), ("dptext", "accept_broken_claim"),
     ("l2_norm", "accept_inexact"), ("privunit", "accept_inexact")],
)  # fmt: skip
def test_python_refuses_what_the_command_refuses_with_the_same_flags(tiny_run: Path, name: str, flag: str) -> None:
    choice = MechanismChoice(BY_NAME[name])
    with pytest.raises(ReleaseRefused, match=f"{flag}=true"):
        Rewriter.from_pretrained(tiny_run, mechanism=BY_NAME[name](epsilon=8.0))
    with pytest.raises(ReleaseRefused, match=f"{flag}=true"):
        opened(tiny_run, epsilon=8.0, mechanism=choice)
    both = {"accept_inexact": True, flag: True}  # dptext is floating point as well
    assert opened(tiny_run, epsilon=8.0, mechanism=choice, **both).mechanism.name == name


def test_a_model_of_private_text_is_refused_in_python_too(tmp_path: Path) -> None:
    config = tiny_config(tmp_path / "run", training_data=TrainingDataConfig(public=False), epochs=1)
    train.run(config)
    with pytest.raises(ReleaseRefused, match="accept_private_model=true"):
        Rewriter.from_pretrained(tmp_path / "run", mechanism=SqrtNLaplace(epsilon=8.0))
    Rewriter.from_pretrained(tmp_path / "run", mechanism=SqrtNLaplace(epsilon=8.0), accept_private_model=True)


def test_what_is_measured_is_refused_nothing_and_released_nowhere(
    tiny_run: Path, labelled_file: Path, tmp_path: Path
) -> None:
    for mechanism in (Identity(), OriginalLaplace(epsilon=8.0)):
        measured = Rewriter.for_measurement(*load_model(tiny_run), mechanism=mechanism)
        assert len(measured.rewrite(["a fare"])) == 1
        with pytest.raises(ReleaseRefused, match="for measurement"):
            release_file(measured, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    assert not list(tmp_path.glob("out*"))
