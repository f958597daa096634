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
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# ADePT as published, its two corrections and a learned codebook, at four budgets, on 2,000 bundled utterances; then a file is rewritten by
# the one of the compared models that has a codebook.
demo: $(READY)
	@echo "Comparing the published mechanism, its two corrections and the learned codebook on bundled text: some minutes."
	$(BIN)/adept compare experiment=demo output_dir=demo/report
	@printf '%s\n' "show me flights from boston to denver on monday" "what does fare code q mean" \
	  "how much is a cab from the airport to downtown" "which airlines fly to lisbon" > demo/utterances.txt
	@rm -f demo/private.txt demo/private.txt.privacy.json
	$(BIN)/adept rewrite model_dir="$$(dirname demo/report/models/*/model/codebooks.safetensors)" \
	  input=demo/utterances.txt output=demo/private.txt epsilon=8
	@echo; echo "Before and after, at epsilon 8:"; paste -d '\n' demo/utterances.txt demo/private.txt /dev/null
	@echo "The comparison is on the page demo/report/report.html; what was guaranteed is in demo/private.txt.privacy.json."

bench: $(READY)
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/rewriting.py
	$(BIN)/python benchmarks/roofline.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist runs demo
