# Everything starts from a fresh machine with Python 3.11: each target sets up .venv/ with the pinned versions first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: test lint demo bench format clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

test: $(READY)
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: $(READY)
	$(BIN)/adept compare experiment=demo output_dir=demo/report
	@printf '%s\n' "show me flights from boston to denver on monday" "what does fare code q mean" \
	  "how much is a cab from the airport to downtown" "which airlines fly to lisbon" > demo/utterances.txt
	@rm -f demo/private.txt demo/private.txt.privacy.json
	$(BIN)/adept rewrite model_dir=demo/report/models/sphere-words-seed0 input=demo/utterances.txt output=demo/private.txt epsilon=8
	@echo; echo "Before and after:"; paste -d '\n' demo/utterances.txt demo/private.txt /dev/null
	@echo "Open demo/report/report.html for the comparison."

bench: $(READY)
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/rewriting.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist runs demo
