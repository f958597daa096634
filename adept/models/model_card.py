"""The README of a model directory: the model's sizes, origin, measurements and guarantees."""

import json
import re
from collections.abc import Mapping

from adept.models.saved_model import Autoencoder

LICENSES = {"air_travel": "mit"}  # license of the bundled text; other text has its own
ENGLISH_DATA = ("air_travel", "atis", "snips")
READERS = {"lstm": "LSTM encoder", "topics": "Encoder of topics, linear in the words"}
WRITERS = {"lstm": "LSTM decoder", "nearest": "decoder that answers with public texts"}
TAGS = ["differential-privacy", "local-differential-privacy", "text-rewriting"]
LISTED_CONTENT = {  # by the model's publicity
    True: "It was declared public:\n  `codec.json` and `codec.safetensors` hold its sentences as they are.",
    False: "No file holds a sentence of it.",
}
USAGE = """\
## Use

`adept rewrite model_dir=DIR input=FILE output=FILE epsilon=8`, or in Python `Rewriter.from_pretrained(DIR, mechanism=...)`.

Files: `config.json` (sizes, clip, training data), `model.safetensors` (weights), `codebooks.safetensors` (codewords, if there
are any), `tokenizer.json` (vocabulary), `synonyms.json` (for each unknown word the known word that is read instead),
`codec.json` and `codec.safetensors` (public sentences). None of them is code.
"""


def model_card(model: Autoencoder, *, metrics: Mapping[str, float] | None = None, adapted_from: str = "") -> str:
    """Return a model's card, and then ``adapted_from``, the card of the model it was made from."""
    data, config = model.training_data, model.config
    origin = "declared public" if data.public else "PRIVATE: do not share this directory"
    measured = "\n".join(f"- {name}: {value:.4g}" for name, value in (metrics or {}).items()) or "- none"
    mechanisms = "`mechanism=l1`" if model.clip == "l1" else "every mechanism for the l2 ball or the sphere"
    return f"""\
---
{_metadata(model)}
---
# An `adept` autoencoder

{READERS[config.encoder]} and {WRITERS[config.decoder]}, with a latent of {config.latent_dim} dimensions, clipped in {model.clip} to
{config.clip_norm}, for {mechanisms}. It reads and writes at most {config.max_length} tokens; its vocabulary has
{model.vocabulary_size}.

## Where it comes from

Trained on {data.records} records of `{data.name}` ({origin}).

## Measured on validation text

{measured}

## What is guaranteed, and what is not

- A rewrite made with this model and a mechanism of `adept` is locally differentially private *for the record that is rewritten*;
  whoever rewrites chooses the budget, and every output states it.
- The weights and the vocabulary were fitted to the training text: no local guarantee covers that text, and a rewrite can contain
  its sentences.
- A rewrite of a latent uses the words of the training text, whatever the record says. A rewrite of a description
  (`mechanism=description`) is a public sentence, and equals its record if the record is one of them.
- Codebooks and sentences come from the training text too. {LISTED_CONTENT[data.public]}
- A release does not hide who takes part, how many records there are, or their order.

{USAGE}{_source(adapted_from)}"""


def _source(card: str) -> str:
    text = re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL)
    deeper = re.sub("^#", "##", text, flags=re.MULTILINE).strip()
    return f"\n## The model that it was adapted from\n\n{deeper}\n" if text else ""


def _metadata(model: Autoencoder) -> str:
    """Return the card's metadata in YAML; values are written as JSON, so none can break a line."""
    name = model.training_data.name
    terms = LICENSES.get(name, "other")
    fields: dict[str, object] = {"library_name": "adept", "tags": TAGS, "license": terms, "datasets": [name]}
    if terms == "other":
        fields["license_name"] = "as-the-training-text"
    if name in ENGLISH_DATA:
        fields["language"] = ["en"]
    return "\n".join(f"{field}: {json.dumps(value)}" for field, value in fields.items())
