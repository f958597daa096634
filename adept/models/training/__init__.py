"""From a corpus to a model directory: what is asked for, the loss, the run, and going on with one."""
