"""Options of earlier versions: each is refused in one line that says what to do instead.

A key is an option's name, or ``name=value`` where one value alone was removed. ``docs/decisions.md`` has the reasons.
"""

from collections.abc import Sequence

from adept.errors import ConfigurationError

REMOVED = {
    "adapt_share": "adapt the model to public examples instead (adept adapt examples=FILE public=true output_dir=DIR)",
    "adapt_records": "adapt the model to public examples instead (adept adapt examples=FILE public=true output_dir=DIR)",
    **{
        f"training.content.kind={kind}": "training.content.kind=topics keeps more of what a text is about"
        for kind in ("words", "classes", "labels", "air_travel")
    },
    "training.content.grammar_texts": "topics come from the public text alone",
    "training.content.weight": "topics are the encoder, and no part of the loss",
    "training.content.spread": "the decoder learns from codewords, or from noise with training.epsilon",
    "denoise": "each record is written from its own release alone; labels=joint_response keeps labels private",
}


def check_removed(arguments: Sequence[str]) -> None:
    """Refuse what earlier versions had.

    Args:
        arguments: of the command line, as typed.

    Raises:
        ConfigurationError: naming the option, and what to do instead.
    """
    for argument in arguments:
        name = argument.partition("=")[0].lstrip("+~")
        for option in {name, argument} & REMOVED.keys():
            raise ConfigurationError(f"{option} must be left out, as adept no longer has it: {REMOVED[option]}")
