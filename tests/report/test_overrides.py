"""The command in a report makes the very configuration that it was written from."""

import shlex

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore

from adept.cli.app import config_directory, register_mechanisms, typed
from adept.cli.audit import AuditConfig
from adept.comparison.audits import AuditVerdict
from adept.comparison.config import CompareConfig
from adept.data.corpus import DataConfig
from adept.models.topics import ContentConfig
from adept.models.training import TrainingConfig
from adept.report.overrides import audit_command, compare_command

CONFIGS = [
    CompareConfig(output_dir="runs/first"),
    CompareConfig(
        data=DataConfig(sizes=[300, 50, 100], balanced=True, seed=3),
        mechanisms=["l1", "codebook"],
        epsilons=[0.1, 2.5, 512.0],
        seeds=[4],
        labels="randomized_response",
        label_epsilon=0.05,
        baselines=True,
        training=TrainingConfig(epsilon=[4.0, 64.0], content=ContentConfig(kind="labels")),
        output_dir="runs/it's a [test], x=y",
    ),
    CompareConfig(
        data=DataConfig("snips", hub="benayas/snips", hub_label_column="category", text_column="words"),
        text_column="words",
        output_dir="runs/snips",
    ),
    CompareConfig(
        data=DataConfig("mine", path="here/it is", public=False, label_column="topic"), output_dir="runs/mine"
    ),
    CompareConfig(data=DataConfig("files", path="here", public=True), classifiers=["lstm", "tfidf"], output_dir="x"),
]


def composed(command: str) -> object:
    """What Hydra makes of a command."""
    name, *overrides = shlex.split(command)[1:]
    schema = {"compare": CompareConfig, "audit": AuditConfig}[name]
    register_mechanisms()
    ConfigStore.instance().store(name=f"schema_{name}", node=schema)
    with initialize_config_dir(str(config_directory()), version_base="1.3"):
        return typed(compose(name, overrides), schema)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.data.name)
def test_the_command_gives_back_the_configuration(config: CompareConfig) -> None:
    assert composed(compare_command(config)) == config


def test_the_audits_command_names_the_claim_and_the_dimension() -> None:
    config = CompareConfig(output_dir="x")
    config.model.latent_dim, config.model.clip_norm = 16, 2.0
    audit = composed(audit_command(AuditVerdict("original", 7.5, True, 9.0, ""), config))
    assert isinstance(audit, AuditConfig)
    assert (audit.epsilon, audit.dim, audit.trials) == (7.5, 16, 4000)
    assert audit.mechanism.build(epsilon=audit.epsilon, clip_norm=1.0).clip_norm == 2.0
