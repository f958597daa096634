# Everything starts from a fresh machine with Python 3.11: each target sets up .venv/ with the pinned versions first.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
READY := .venv/.ready

# Compiled modules and tests are kept for the next process, which would need seconds to compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test proofs slow hours network hub browser lint docs demo notebooks bench format clean

$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $(CORE)

$(READY): $(CORE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The mathematics of the guarantees, checked by Coq (docs/proofs.md). Nothing is installed: where Coq is missing, the target says so and fails.
proofs: $(READY)
	$(BIN)/python proofs/check.py
	$(BIN)/python -m pytest -m "proofs and not hours" tests/proofs

slow: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not gpu and not network and not hub and not browser"

hours: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m hours

# Other people's packages, each in an environment of its own in the user's cache: the quick reproducers and audits of docs/wild.md.
network: $(READY)
	$(BIN)/python -m pytest -m "network and not slow" tests/audits

# The Hugging Face Hub itself: its data sets and models. Where it does not answer, each test says NOT RUN.
hub: $(READY)
	$(BIN)/python -m pytest -m hub tests/data tests/rewriting

browser: $(READY)
	$(BIN)/python -m pytest -m browser tests/web

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in site/: open site/index.html."

# Four sentences, yours if demo/utterances.txt holds some, at three budgets by the model that comes with the package; then ADePT as
# published, its two corrections and a learned codebook on 2,000 bundled utterances. Rewrites are shown before the rest is installed.
demo: $(CORE)
	@mkdir -p demo
	@test -s demo/utterances.txt || cp examples/utterances.txt demo/utterances.txt
	@rm -f demo/private_[128]*
	@printf '%s\n' 2 8 | OMP_NUM_THREADS=1 xargs -P 2 -I EPSILON $(BIN)/adept rewrite input=demo/utterances.txt \
	  output=demo/private_EPSILON.txt epsilon=EPSILON > demo/rewrite.log 2>&1 || { cat demo/rewrite.log; exit 1; }
	@for e in 2 8; do sed "s/^/    epsilon $$e:  /" demo/private_$$e.txt > demo/private_$$e.shown; done
	@echo; echo "Each sentence, and what is written for it at two budgets (put your own into demo/utterances.txt):"; echo
	@paste -d '\n' demo/utterances.txt demo/private_2.shown demo/private_8.shown /dev/null
	@echo "What was guaranteed is in demo/private_8.txt.privacy.json."
	@echo "At epsilon 16, which protects little:"; echo
	@$(BIN)/adept rewrite input=demo/utterances.txt output=demo/private_16.txt epsilon=16 > demo/rewrite.log 2>&1 || { cat demo/rewrite.log; exit 1; }
	@sed "s/^/    epsilon 16:  /" demo/private_16.txt; echo
	@echo "Now the published mechanism, its two corrections and a learned codebook are compared on bundled text: a minute or two."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[compare]"
	$(BIN)/adept compare experiment=demo output_dir=demo/report
	@echo "The comparison is on the page demo/report/report.html."

# Runs the notebooks of examples/, and writes their outputs into them.
notebooks: $(READY)
	$(BIN)/python tests/notebooks.py

bench: $(READY)
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/rewriting.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/roofline.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist runs demo site
