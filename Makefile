# Two commands matter: `make run` and `make test`. Each does all its own set-up on a machine with some Node, npm, make and Python.
# Node 24 is brought from the npm registry into .cache when the machine's own is older (docs/decisions/0001).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

NODE_DIR := $(shell bash scripts/node-path.sh)
export PATH := $(NODE_DIR):$(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: help node setup generate console docs run test test-all test-clients test-ml test-recordings check bench bench-overload bench-soak bench-store bench-smoke bench-simulate bench-training bench-strategies bench-money bench-migration bench-promote bench-retention bench-logs bench-backups cluster upgrade alerts traces fault fault-mutants security fuzz demo-batch test-browser pictures demo-console demo-federated demo-fedprox simulate ledger-verify ledger-replay verify-receipt prices sbom licenses package ship-check gw clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

setup: node_modules/.installed ## install packages

# Looked at every time, not only when packages are installed: the machine's Node may be another one today.
node:
	@bash scripts/node-fetch.sh

node_modules/.installed: package.json package-lock.json .npmrc | node
	@# Not `npm ci`: it wants every platform's optional binaries in the lockfile (docs/decisions/0001). The lockfile is still obeyed.
	npm install --no-save --no-progress --loglevel=error
	@touch $@

KERNELS := trainer-node/compute/kernels
GW_COMMANDS := gateway-edge/server/reference/gen/gw-commands.ts

generate: proto/gen/.generated $(KERNELS)/gen/kernels-wasm.ts common/strategies/gen/strategies.ts $(GW_COMMANDS) ## TypeScript from proto/, the trainer's kernels, the lists of strategies and of gw's commands

proto/gen/.generated: node_modules/.installed buf.yaml buf.gen.yaml $(shell find proto -name '*.proto' 2>/dev/null)
	buf generate
	@touch $@

$(KERNELS)/gen/kernels-wasm.ts: node_modules/.installed scripts/build-kernels.ts $(KERNELS)/wat.ts $(wildcard $(KERNELS)/wasm-*source.ts)
	node scripts/build-kernels.ts

# The folders change when a file comes or goes, which is all that the lists depend on.
common/strategies/gen/strategies.ts: node_modules/.installed scripts/build-registries.ts common/strategies trainer-node/compute/aggregators
	node scripts/build-registries.ts

$(GW_COMMANDS): node_modules/.installed scripts/build-registries.ts $(shell find cli -name '*.ts' 2>/dev/null)
	node scripts/build-registries.ts

console: console/dist/index.html ## build the console that the edge serves at /ui

console/dist/index.html: node_modules/.installed console/index.html console/vite.config.ts $(shell find console/src console/public -type f 2>/dev/null)
	vite build --logLevel warn --config console/vite.config.ts
	@touch $@

docs: docs/.vitepress/dist/index.html ## build the guides that the edge serves at /docs/; a broken link fails

docs/node_modules/.installed: docs/package.json docs/package-lock.json docs/.npmrc | node
	cd docs && npm install --no-save --no-progress --loglevel=error
	@touch $@

docs/.vitepress/dist/index.html: docs/node_modules/.installed $(wildcard *.md docs/.vitepress/*.ts docs/.vitepress/theme/*) sdk/python/README.md $(shell find docs -name '*.md' -not -path '*/node_modules/*' -not -path '*/dist/*') $(wildcard docs/pictures/*)
	cd docs && node_modules/.bin/vitepress build .
	@touch $@

run: generate console ## start everything: control plane, edges, trainer node
	@exec env NODE_COMPILE_CACHE="$(CURDIR)/.cache/compiled" node scripts/run.ts

test: generate console ## every test, on the embedded store and on a real MongoDB
	node scripts/test.ts $(ARGS)

test-all: generate console ## the same, and all of what make test does a part of: more seeds, roles, rows, faults and looks at screens
	THOROUGH=1 node scripts/test.ts $(ARGS)

test-browser: generate console ## the console in a real browser; PACE=5 pauses 5 s after each action, as a slow person does: ARGS='-t "signs up"'
	node scripts/test.ts test/browser $(ARGS)

test-clients: generate ## official and other clients against the gateway, case by case, with their versions
	node scripts/test-clients.ts $(ARGS)

test-ml: generate ## heavy Python packages: unmodified Flower apps, a LoRA adapter and JAX in federations, simulations on Ray and of torch; prints epsilon beside dp-accounting and noise on the wire
	node scripts/test-ml.ts $(ARGS)

test-recordings: generate ## recorded answers of real providers behind the gateway, by chat, messages and responses: RECORDINGS=<folder>
	RECORDINGS="$(abspath $(RECORDINGS))" node scripts/test.ts test/recordings $(ARGS)

check: generate ## formatting, lint, types, imports, dead code, proto, sizes
	node scripts/check.ts

bench: generate ## what a call costs here and in nginx, bare Node, Portkey, LiteLLM and Bifrost, where installed; WRITE=1 ROUNDS=1 SCALE=0.1 ONLY=bare,tributary,growth,edges,idle
	node scripts/bench.ts

bench-smoke: generate ## what a paid call costs, over a bare pass-through; fails above the guard
	node scripts/bench-smoke.ts

bench-overload: generate ## more callers than an edge can serve: goodput, refusals, unsettled calls and memory; CALLERS=64,1000 SECONDS=30
	node scripts/bench-overload.ts

bench-soak: generate ## an edge at its full rate: heaps, unsettled calls and memory each minute, and an exact balance at the end; MINUTES=20
	node scripts/bench-soak.ts

bench-store: generate ## settlement and paging figures of both stores
	node scripts/bench-store.ts

bench-money: generate ## what the journal costs a call, how fast both stores settle, how many RPCs a call makes, and what 1, 2 and 3 control planes cost and share; ONLY=planes ROUNDS=7
	node scripts/bench-money.ts

bench-migration: generate ## a million-entry ledger from before slots is migrated: seconds, and the same verify before and after
	node scripts/bench-migration.ts

bench-promote: generate ## a store with a million calls is promoted to MongoDB and killed on the way: seconds, memory, equal ledgers; ROWS=1000000 KILLS=5
	node scripts/bench-promote.ts

bench-retention: generate ## usage rows are archived while calls are settled: disk before and after, what settlements waited, and verifications with checkpoints; ROWS=200000 FOLDER=<where the store stays> UNTIL=filled
	node scripts/bench-retention.ts

bench-logs: generate ## filters, search and pages of a long log beside paid calls: slowest answer, partial or not, refused calls; ROWS=1000000 RATE=200 STORE=mongo
	node scripts/bench-logs.ts

bench-backups: generate console ## backups of a running platform under load, each restored and verified: BACKUPS=8 RATE=120
	node scripts/bench-backups.ts

cluster: generate ## all roles on loopback addresses with mutual TLS; each is killed, stopped, terminated and restarted in turn under load, and the store's primary is struck
	node scripts/cluster.ts

alerts: generate ## a real Prometheus watches all roles: every shipped alert must fire, that of a killed role within 60 s; a table of all alerts
	node scripts/alerts.ts

traces: generate ## 1,000 calls are 1,000 traces with the right spans and attributes, in an OTLP receiver: CALLS=1000 OTLP_FORWARD=<url of a collector>
	TRACED_CALLS=$(or $(CALLS),1000) node scripts/test.ts test/e2e/traces

upgrade: generate ## the release before this one and this one at the same time, under load: each one's edges with the other's control planes, and back
	node scripts/upgrade.ts

fault: generate ## tries to break the money: 10,000 simulated seeds, 200 kills of real processes, the last cent, a full disk, a lost primary
	node scripts/fault.ts

fault-mutants: generate ## plants sixteen bugs; each must be caught by the invariant it breaks
	node scripts/fault-mutants.ts

security: generate console ## the security checklist, a line per item with its evidence: ARGS="S-27 F7" selects
	@node scripts/security.ts $(ARGS)

fuzz: generate console ## 100,000 hostile inputs for every reader of bytes, and schemathesis on /openapi.json: ARGS="--cases 5000 --seed 7"
	@node scripts/fuzz.ts $(ARGS)

demo-batch: generate ## a batch of 5,000 requests while its edges are killed: counts, memory, money
	node scripts/demo-batch.ts

demo-console: generate console ## a stranger in a browser, from nothing to a paid call and its chart, at a person's speed: a picture per step, and the time; PACE=0 without pauses
	node scripts/demo-console.ts

pictures: generate console ## a picture of every screen in docs/images, by the browser test over a furnished platform
	node scripts/pictures.ts

demo-federated: generate ## ten participants, three attackers, two kills: a model trained together, published, called, billed, paid for
	node scripts/demo-federated.ts

demo-fedprox: generate ## FedProx against FedAvg with nine of ten participants too slow, as in the paper
	node scripts/demo-fedprox.ts

simulate: generate ## a federation of virtual clients in one process: make simulate ARGS='simulation.json --clients 1000'
	@node trainer-node/simulation/main.ts $(ARGS)

bench-simulate: generate ## rounds of 1,000 scikit-learn clients over processes, over Ray and in Flower's simulation: seconds, CPU, memory
	node scripts/bench-simulate.ts

bench-training: generate ## ratios of the training participant, Flower from PyPI beside it
	node scripts/bench-training.ts

bench-strategies: generate ## momentum, adaptive and robust strategies against a plain mean, on the digits
	node scripts/bench-strategies.ts $(ARGS)

gw: setup ## the command line: make gw ARGS="models list"
	@bin/gw $(ARGS)

ledger-verify: generate ## re-read the books of a running system (URL, ADMIN_TOKEN or MASTER_KEY)
	@node scripts/admin-ledger.ts verify

ledger-replay: generate ## its balances at AS_OF from entries alone, and the difference WITH_PRICES of another time
	@node scripts/admin-ledger.ts replay $(if $(AS_OF),--as-of $(AS_OF)) $(if $(WITH_PRICES),--with-prices $(WITH_PRICES))

verify-receipt: generate ## check a call's receipt offline: FILE=receipt.json KEYS=tributary-receipts.json
	@node scripts/verify-receipt.ts "$(FILE)" "$(KEYS)"

package: generate console docs ## dist/: the npm package (npm install dist/tributary-*.tgz && npx tributary) and the wheel of the Python SDK
	node scripts/package.ts --pack --wheel

ship-check: generate console ## Dockerfile, compose files, systemd units, Helm chart and the installed npm package, by the tools of their readers: ARGS=Helm selects
	node scripts/ship-check.ts $(ARGS)

prices: | node ## refreshes the public price lists: the data package, and LiteLLM's list for what it lacks (LITELLM_PRICES=<file>, or from the network)
	npm install --no-audit --no-fund --ignore-scripts --save-exact @pydantic/genai-prices@latest
	$(if $(LITELLM_PRICES),LITELLM_PRICES="$(abspath $(LITELLM_PRICES))") node scripts/refresh-prices.ts

sbom: | node ## software bill of materials of the production dependencies, CycloneDX 1.5: OUT=sbom.json, or stdout
	@node scripts/sbom.ts $(if $(OUT),--out "$(OUT)")

licenses: | node ## licenses of the production dependencies; fails if one is not allowed
	@node scripts/sbom.ts --licenses

clean: ## remove what make built (never data/)
	rm -rf node_modules proto/gen $(KERNELS)/gen common/strategies/gen trainer-node/compute/aggregators/gen $(dir $(GW_COMMANDS)) .cache console/dist docs/.vitepress/dist docs/.vitepress/cache docs/node_modules dist
