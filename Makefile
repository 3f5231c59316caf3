# `make run` shows the site, `make test` tests it; `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
RUNTIME := requirements.txt requirements-mongod.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# One more than there are cores: tests wait for MongoDB and for browsers.
TESTERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

.PHONY: help run test test-slow lint bench soak mutants screenshots vendor clean chromium wrk checkers java promtool varnish nginx lighthouse lock sbom audit image builders
.DEFAULT_GOAL := help

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

run: .venv/runtime.stamp ## serve the site on 127.0.0.1:8000 (PORT=8001, DEMO=0, MONGODB_URI=… change it)
	@exec $(BIN)/python manage.py serve --with-parent

test: .venv/dev.stamp chromium checkers ## the quick tests, about ten minutes on two cores
	$(BIN)/python -m pytest -m "not slow" -n $(TESTERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-slow: .venv/dev.stamp chromium checkers java promtool varnish nginx builders ## the long tests: crashes, volumes, conversions, guards taken out
	$(BIN)/python -m pytest -m slow -n logical --dist loadfile --no-loadscope-reorder $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m tests.mutants)

lint: .venv/dev.stamp checkers ## style of Python, scripts and style sheets, types and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	node_modules/.bin/biome ci --error-on-warnings .

bench: .venv/dev.stamp wrk ## the measurements that the documents quote (ARGS=name for one, QUICK=1 for two minutes)
	$(BIN)/python -m benchmarks $(ARGS)

lighthouse: .venv/dev.stamp chromium benchmarks/node_modules/.stamp ## Lighthouse's scores of a home page, a post and a gallery: medians of five
	$(BIN)/python -m benchmarks.lighthouse

soak: .venv/dev.stamp $(if $(filter cdn,$(ARGS)),varnish) ## an hour of mixed traffic while the site is broken (ARGS="--minutes 10"; ARGS=cdn: behind Varnish); MACHINE=30000: of random steps
	$(if $(MACHINE),MACHINE_STEPS=$(MACHINE) $(BIN)/python -m pytest -q -m slow tests/comments/backends/test_machine.py,$(BIN)/python -m benchmarks.soak $(ARGS))

mutants: .venv/dev.stamp ## take guards out one by one: the test named for each must fail
	$(BIN)/python -m tests.mutants $(ARGS)

screenshots: .venv/dev.stamp chromium ## the pictures in docs/images
	$(BIN)/python -m pytest -q tests/browser/screenshots.py

vendor: ## fetch anew what static/vendor holds of others (needs npm; for raising a version)
	@bash tools/vendor.sh

image: .venv/dev.stamp builders ## the site as a container image, from what is committed, in build/marginalia.tar
	@deploy/build.sh $(BIN)/python

lock: .venv/dev.stamp ## write requirements.lock, the hashes of what requirements.txt pins (after raising a version)
	$(BIN)/python -m tools.lock

sbom: .venv/dev.stamp ## list what the site is made of in build/sbom.json (CycloneDX)
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements requirements.lock --output-reproducible --output-file build/sbom.json

audit: .venv/dev.stamp ## ask whether advisories name a locked package; ends with 2 where none could be asked
	@$(BIN)/python -m tools.audit $(ARGS)

clean: ## delete the virtual environment and what tools left; never the data in var/
	rm -rf .venv node_modules build dist htmlcov .coverage .hypothesis .*_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An install that was broken off leaves no stamp behind and is done again.
.venv/runtime.stamp: $(RUNTIME) | $(BIN)/python
	@echo "Installing what the site needs into .venv …"
	@$(PIP) $(RUNTIME:%=-r %)
	@touch $@

.venv/dev.stamp: requirements-dev.txt $(RUNTIME) | $(BIN)/python
	@echo "Installing what the tests need into .venv …"
	@$(PIP) -r requirements-dev.txt
	@touch $@ .venv/runtime.stamp

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) here: install Python 3.11 or later, or name one: make PYTHON=/path/to/python3 …" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Marginalia needs Python 3.11 or later, and $(PYTHON) is %d.%d: name another, as in make PYTHON=python3.12 run" % sys.version_info[:2])'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) lacks its venv module: on Debian and Ubuntu, apt-get install python3-venv" >&2; exit 1; }
	@rm -rf .venv
	@$(PYTHON) -m venv .venv

# $(call have,what says that it is there,packages,what is said where nobody can install them[,what would do instead ||])
# RUNLEVEL: servers that come with a package need not run here.
define have
	@$(1) || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $(2); } || $(4) \
		{ echo "$(3): on Debian, apt-get install $(2)" >&2; exit 1; }
endef

chromium:
	$(call have,command -v chromium-headless-shell >/dev/null,chromium-headless-shell fonts-wqy-microhei,The browser tests need Chromium,command -v chromium >/dev/null ||)

wrk:
	$(call have,command -v wrk >/dev/null,wrk,The benchmarks load pages with wrk)

checkers: node_modules/.stamp

# The linters and tests use the packages in package.json, the measurements those in benchmarks/package.json. npm installs the
# versions of the lock files, without running scripts of the packages.
node_modules/.stamp: package.json package-lock.json
benchmarks/node_modules/.stamp: benchmarks/package.json benchmarks/package-lock.json
node_modules/.stamp benchmarks/node_modules/.stamp:
	$(call have,command -v npm >/dev/null,npm,The linters and tests need npm)
	@npm ci --prefix $(dir $(@D)) --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@

java:
	$(call have,command -v java >/dev/null,default-jre-headless,The slow tests need Java)

promtool:
	$(call have,command -v promtool >/dev/null,prometheus,The slow tests need promtool)

# The file of one function of it (xkey) tells that varnish-modules is there.
varnish:
	$(call have,command -v varnishd >/dev/null && ls /usr/lib/*/varnish/vmods/libvmod_xkey.so >/dev/null 2>&1,varnish varnish-modules,The slow tests need Varnish)

nginx:
	$(call have,command -v nginx >/dev/null,nginx-light,The slow tests need nginx)

builders:
	$(call have,command -v buildah >/dev/null && command -v mmdebstrap >/dev/null,buildah mmdebstrap,The image is built with buildah and mmdebstrap)
