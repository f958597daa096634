"""A library works as it always does, whatever PyTorch defaults its caller has changed."""

import decimal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import tiny_config
from torch._subclasses.fake_tensor import FakeTensorMode

from adept import audit
from adept.cli import train
from adept.data.corpus import Corpus
from adept.evaluation.classifiers import evaluate
from adept.mechanisms import L1Laplace, LearnedCodebook, SqrtNLaplace
from adept.mechanisms.guarantee import odds_change, words
from adept.models.adapt import adapt
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.torch_defaults import usual_torch

TEXTS = [f"{verb} {noun} {place}" for verb in ("show", "list") for noun in ("flights", "fares") for place in "abcdefgh"]


@contextmanager
def changed(change: Callable[[Any], None], value: Any, usual: Any) -> Iterator[None]:
    change(value)
    try:
        yield
    finally:
        change(usual)


CHANGES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "float64": lambda: changed(torch.set_default_dtype, torch.float64, torch.float32),
    "float16": lambda: changed(torch.set_default_dtype, torch.float16, torch.float32),
    "meta": lambda: changed(torch.set_default_device, "meta", None),
    "cpu": lambda: changed(torch.set_default_device, "cpu", None),
    "meta as a context": lambda: torch.device("meta"),
    "inference mode": torch.inference_mode,
    "no grad": torch.no_grad,
    "tensors without values": FakeTensorMode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "errors of NumPy": lambda: np.errstate(all="raise"),
    "deterministic": lambda: changed(torch.use_deterministic_algorithms, True, False),
    "two threads": lambda: changed(torch.set_num_threads, 2, torch.get_num_threads()),
}
every_change = pytest.mark.parametrize("change", CHANGES)


@every_change
def test_the_usual_defaults_hold_inside_and_the_callers_come_back(change: str) -> None:
    def state() -> tuple[object, ...]:
        grad = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")
        return torch.get_default_dtype(), torch.get_default_device().type, *grad

    with CHANGES[change]():
        before = state()
        with usual_torch():
            assert state() == (torch.float32, "cpu", True, False, False)
        assert state() == before
        with pytest.raises(KeyError):
            usual_torch()({}.pop)("key")
        assert state() == before


def trained_loss(directory: Path) -> float:
    return train.run(tiny_config(directory, epochs=1)).fit.validation_loss


@pytest.fixture(scope="module")
def usual_loss(tmp_path_factory: pytest.TempPathFactory) -> float:
    return trained_loss(tmp_path_factory.mktemp("usual") / "run")


@every_change
def test_training_reaches_the_same_loss(change: str, usual_loss: float, tmp_path: Path) -> None:
    with CHANGES[change]():
        assert trained_loss(tmp_path / "changed") == pytest.approx(usual_loss, rel=1e-6)


@every_change
def test_a_classifier_learns_the_same(change: str) -> None:
    labelled = Corpus(TEXTS, ["flights" if "flights" in text else "fares" for text in TEXTS])
    with CHANGES[change]():
        for classifier in ("tfidf", "lstm"):
            assert evaluate(labelled, labelled, classifier=classifier).accuracy.value == 1.0


@every_change
def test_models_are_loaded_adapted_and_used_alike(change: str, topic_run: Path, tiny_run: Path) -> None:
    """At an epsilon that hardly adds noise, the codeword of a text is the nearest one."""
    examples = [f"my {thing} is {state}" for thing in ("router", "bill") for state in ("broken", "late", "lost", "new")]

    def results() -> list[object]:
        adapted, tokenizer = adapt(*load_model(topic_run), examples, source="a file")
        far = Rewriter(adapted, tokenizer, mechanism=LearnedCodebook(epsilon=600.0))
        near = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), accept_broken_claim=True)
        latents = near.encode(TEXTS)
        return [far.rewrite(examples), latents.dtype, latents.device.type, latents.tolist(), len(near.rewrite(TEXTS))]

    plain = results()
    with CHANGES[change]():
        assert results() == plain


@pytest.mark.slow
@pytest.mark.parametrize("change", ["meta", "float16"])
def test_an_audit_judges_alike(change: str) -> None:
    with CHANGES[change]():
        assert audit.run(L1Laplace(epsilon=1.0), dim=2, trials=300).outcome == "not refuted"


def test_a_statement_says_the_same_whatever_decimal_context_the_caller_has() -> None:
    """A context that rounds down would state a smaller epsilon; one with traps would raise."""
    epsilons = (1 / 3, 1.23456789, 12.3456789, 2.5e-5)
    usual = [(words(epsilon), odds_change(epsilon)) for epsilon in epsilons]
    for traps in ([], [decimal.Inexact, decimal.Rounded, decimal.FloatOperation]):
        with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_DOWN, traps=traps)):
            assert [(words(epsilon), odds_change(epsilon)) for epsilon in epsilons] == usual


def test_calls_in_several_threads_leave_the_callers_default_as_it_was() -> None:
    """The default type is the whole process's: the last call out restores it, and none computes with it before."""
    entered, leave, found = threading.Event(), threading.Event(), []

    def other() -> None:
        with usual_torch():
            entered.set()
            leave.wait()
            found.append(torch.get_default_dtype())

    with changed(torch.set_default_dtype, torch.float64, torch.float32):
        with usual_torch():
            (thread := threading.Thread(target=other)).start()
            entered.wait()
        leave.set()
        thread.join()
        assert (found, torch.get_default_dtype()) == ([torch.float32], torch.float64)
