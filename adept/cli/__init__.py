"""The commands: each module has `run(config) -> Result` and `main() -> exit status`."""
