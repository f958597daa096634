"""From a corpus to a model directory: options, loss, run, and how a run is resumed."""
