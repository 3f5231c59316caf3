# `make run` starts the site, `make test` runs the quick tests, and `make help` lists all targets.
PYTHON ?= python3
BIN := .venv/bin
RUNTIME := requirements.txt requirements-mongod.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Number of test processes. There is one more process than there are cores, because tests often wait for MongoDB and
# browsers.
TESTERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

.PHONY: help run test test-next test-on-next test-slow lint docs bench soak mutants screenshots vendor package clean chromium wrk checkers java promtool varnish nginx lighthouse lock sbom audit image builders release
.DEFAULT_GOAL := help

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

run: .venv/runtime.stamp ## serve the site on 127.0.0.1:8000 (options: PORT=8001, DEMO=0, MONGODB_URI=…)
	@exec $(BIN)/python manage.py serve --with-parent

test: .venv/dev.stamp chromium checkers ## run the quick tests, about 9 minutes on two cores
	$(BIN)/python -m pytest -m "not slow" -n $(TESTERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# A Python 3.12 or later, or nothing.
NEXT_PYTHON = $(shell for python in $(PYTHON) python3.13 python3.12 python3.14; do $$python -c \
	'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && { echo $$python; break; }; done)

test-next: ## run the quick tests with the versions in requirements-next.txt (PYTHON=python3.13), on Debian 13 if there is no Python 3.12
	$(if $(NEXT_PYTHON),$(MAKE) test-on-next PYTHON=$(NEXT_PYTHON),$(MAKE) builders)
	$(if $(NEXT_PYTHON),,env -u MAKEFLAGS tools/debian13.sh make test-on-next ARGS='$(ARGS)')

test-on-next: .venv-next/dev.stamp chromium checkers
	.venv-next/bin/python -m pytest -m "not slow" -n $(TESTERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-slow: .venv/dev.stamp chromium checkers java promtool varnish nginx builders ## run the slow tests: crashes, large volumes, conversions, mutants, and test-next
	$(BIN)/python -m pytest -m slow -n $(TESTERS) --dist loadfile --no-loadscope-reorder $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m tests.mutants)
	$(if $(ARGS),,$(MAKE) test-next)

lint: .venv/dev.stamp checkers ## check style, types, imports, and the words of docs and interface
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/djlint --lint --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	node_modules/.bin/biome ci --error-on-warnings .
	node_modules/.bin/tsc
	node_modules/.bin/textlint --format unix --config tools/prose/docs.json *.md deploy docs
	$(BIN)/python -m tools.strings
	node_modules/.bin/textlint --format unix --config tools/prose/strings.json build/strings

docs: .venv/dev.stamp ## build the site of the docs in build/docs, and check its links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open build/docs/*/index.html"

bench: .venv/dev.stamp wrk ## run the benchmarks that the docs quote (ARGS=name for one, QUICK=1 for two minutes)
	$(BIN)/python -m benchmarks $(ARGS)

lighthouse: .venv/dev.stamp chromium benchmarks/node_modules/.stamp ## measure Lighthouse scores of a home page, a post, a gallery and the search page (medians of five runs)
	$(BIN)/python -m benchmarks.lighthouse

soak: .venv/dev.stamp $(if $(filter cdn,$(ARGS)),varnish) ## run mixed traffic during failures for an hour (ARGS="--minutes 10"; ARGS=cdn for Varnish; MACHINE=30000 for random steps)
	$(if $(MACHINE),MACHINE_STEPS=$(MACHINE) $(BIN)/python -m pytest -q -m slow tests/comments/backends/test_machine.py,$(BIN)/python -m benchmarks.soak $(ARGS))

mutants: .venv/dev.stamp ## remove each guard in turn and check that its test fails
	$(BIN)/python -m tests.mutants $(ARGS)

screenshots: .venv/dev.stamp chromium ## take the screenshots in docs/images
	$(BIN)/python -m pytest -q tests/browser/screenshots.py

vendor: checkers ## update the third-party files in static/vendor (needs npm)
	@bash tools/vendor.sh

image: .venv/dev.stamp builders ## build a container image of the last commit in build/marginalia.tar
	@deploy/build.sh $(BIN)/python

package: .venv/dev.stamp ## build the packages django-marginalia and marginalia-cms in build/package, and check them
	rm -rf build/package
	$(BIN)/python -m build --no-isolation --outdir build/package
	$(BIN)/python -m build --no-isolation --outdir build/package package
	$(BIN)/twine check --strict build/package/*

release: .venv/dev.stamp builders ## check, test and build the version in pyproject.toml, and tag the commit (never pushes)
	@tools/release.sh

lock: .venv/dev.stamp ## write requirements.lock with the hashes of the versions in requirements.txt
	$(BIN)/python -m tools.lock

sbom: .venv/dev.stamp ## write the site's components to build/sbom.json (CycloneDX)
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements requirements.lock --output-reproducible --output-file build/sbom.json

audit: .venv/dev.stamp ## check locked packages for security advisories; exits with code 2 if none can be checked
	@$(BIN)/python -m tools.audit $(ARGS)

clean: ## delete the virtual environments and files of tools, but never the data in var/
	rm -rf .venv .venv-next node_modules build dist htmlcov .coverage .hypothesis .*_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# If an installation is interrupted, no stamp is created, so it runs again next time.
.venv/runtime.stamp: $(RUNTIME) | $(BIN)/python
	@echo "Installing what the site needs into .venv …"
	@$(PIP) $(RUNTIME:%=-r %)
	@touch $@

.venv/dev.stamp: requirements-dev.txt $(RUNTIME) | $(BIN)/python
	@echo "Installing what the tests need into .venv …"
	@$(PIP) -r requirements-dev.txt
	@touch $@ .venv/runtime.stamp

# The packages in requirements-next.txt replace the versions that requirements-dev.txt installs.
.venv-next/dev.stamp: requirements-next.txt requirements-dev.txt $(RUNTIME) | .venv-next/bin/python
	@echo "Installing what the tests need into .venv-next …"
	@.venv-next/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@.venv-next/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-next.txt
	@touch $@

$(BIN)/python:
	$(call environment,.venv,3.11)

.venv-next/bin/python:
	$(call environment,.venv-next,3.12)

# $(call environment,folder,oldest version of Python)
define environment
@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) here: install Python $(2) or later, or name one: make PYTHON=/path/to/python3 …" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= tuple(map(int, "$(2)".split("."))) else "This target needs Python $(2) or later, and $(PYTHON) is %d.%d: name another, as in make PYTHON=python3.13 …" % sys.version_info[:2])'
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) lacks its venv module: on Debian and Ubuntu, apt-get install python3-venv" >&2; exit 1; }
@rm -rf $(1)
@$(PYTHON) -m venv $(1)
endef

# $(call have,command that finds the program,packages,message if they can't be installed[,command that finds an alternative ||])
# RUNLEVEL=1 prevents the servers in these packages from starting.
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

# The linters and tests use the packages in package.json. The benchmarks use the packages in benchmarks/package.json.
# npm installs the versions in the lock files, without running the packages' scripts.
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

# If the xkey library exists, varnish-modules is installed.
varnish:
	$(call have,command -v varnishd >/dev/null && ls /usr/lib/*/varnish/vmods/libvmod_xkey.so >/dev/null 2>&1,varnish varnish-modules,The slow tests need Varnish)

nginx:
	$(call have,command -v nginx >/dev/null,nginx-light,The slow tests need nginx)

builders:
	$(call have,command -v buildah >/dev/null && command -v mmdebstrap >/dev/null,buildah mmdebstrap,The image is built with buildah and mmdebstrap)
