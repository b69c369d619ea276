# Two commands do everything: `make demo` and `make test`. Each installs what it needs, in a cache outside the checkout.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(KUBEPHASE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kubephase)
VENV := $(CACHE)/venv/$(shell cat tests/requirements.txt tests/environment.sh | sha256sum | cut -c1-16)
LINK := .ansible/collections/ansible_collections/kubephase/cluster
LAB := python3 -m lab

export KUBEPHASE_CACHE := $(CACHE)
export PATH := $(VENV)/bin:$(PATH)
export PYTHONPATH := $(CURDIR)/.ansible/collections
export LC_ALL := C.UTF-8
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

.PHONY: help setup demo test test-all lint sanity unit compat compat-all changelog parity parity-all molecule live live-all bench build lab-up lab-down lab-selftest clean

help: ## Show the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(VENV)/.complete $(LINK) ## Install the development tools and link the checkout as a collection

# Its path is a digest of what it is made from, so it needs no prerequisites: a fresh clone has newer files and the same tools.
$(VENV)/.complete:
	@bash tests/environment.sh "$(VENV)"

$(LINK):
	@mkdir -p $(dir $(LINK)) && ln -sfn "$(CURDIR)" $(LINK)

demo: setup ## Bring up five lab nodes, run the site playbook on them and show the result
	@bash lab/demo.sh

test: lint unit sanity compat parity molecule live ## Run every suite; what .ci/run calls
	@echo "make test: all suites passed"

test-all: lint unit sanity compat-all parity-all molecule live-all lab-selftest ## Every suite with what takes longer: all minors, all kills, 1.28 live
	@bash extensions/molecule/run.sh default@1.28.15
	@echo "make test-all: all suites passed"

lint: setup ## ruff, mypy --strict, ansible-lint, changelog
	ruff check .
	ruff format --check .
	mypy
	ansible-lint --offline
	antsibull-changelog lint

sanity: setup ## ansible-test sanity on the built collection
	@bash tests/sanity.sh

unit: setup ## Unit tests of the pure code, the architecture test, the documentation test
	pytest -q -n 2 tests/unit tests/integration

compat: setup ## The controller's part with newer ansible-cores and Pythons, the hosts' part with Python 3.9, the execution environment
	@bash tests/compat.sh

compat-all: setup ## The same with every test of the controller's part, and ansible-test sanity of the newest ansible-core
	@bash tests/compat.sh all

parity: setup ## Compare with real kubeadm 1.22.17, 1.28.15 and 1.37.1
	pytest -q -n 2 tests/parity

parity-all: setup ## Compare with real kubeadm of every minor from 1.22 to 1.37
	KUBEPHASE_PARITY=all pytest -q -n 2 tests/parity

molecule: setup ## Scenarios on real nodes: one with usual documents, one with rich ones, five nodes, serving certificates
	@bash extensions/molecule/run.sh ha rich serving default

# What takes longest comes first, so that two who test side by side end together.
LIVE := join_faults first_run selection deviations reconfigure secrets kills serving interop join_secrets interop_ours report prepare examples artifact

live: setup ## On real nodes: preparing, deviations, kills, faults of join, interoperability with kubeadm, secrets, the report, an example, the artifact
	pytest -q -n 2 --dist loadscope --no-loadscope-reorder $(patsubst %,tests/live/test_live_%.py,$(LIVE))

live-all: setup ## The same with every kill, every fault and every example; serving certificates
	pytest -q tests/live --all-kills

bench: setup ## Measure against kubeadm on equal nodes (PARTS="pki init workers site serving"); prints ratios, never fails on a figure
	@bash tests/bench/run.sh

changelog: setup ## Bring the changelog of the version in galaxy.yml up to date; takes the fragments in
	antsibull-changelog release --update-existing --reload-plugins

build: setup ## Build the collection artifact into the cache
	@bash tests/build.sh

lab-up: ## Start a lab of real nodes (NODES=n)
	$(LAB) up --nodes $(or $(NODES),1)

lab-down: ## Remove the lab of this checkout
	$(LAB) down

lab-selftest: ## Prove the lab with a cluster made by the real kubeadm
	$(LAB) selftest

clean: lab-down ## Remove the lab of this checkout and what the tools left in it; shared caches stay
	rm -rf .ansible .mypy_cache .pytest_cache .ruff_cache tests/output
