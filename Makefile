# Run "make help" for the targets. Variables: RACE (default -race where there is a C compiler,
# which it needs; RACE= for none), FUZZTIME (default 30s per target), BENCH (a pattern, default all).

SHELL    := /bin/bash
GO       ?= go
RACE     ?= $(shell command -v "$$($(GO) env CC | cut -d' ' -f1)" >/dev/null && echo -race)
FUZZTIME ?= 30s
BENCH    ?= .
# Only the race detector needs C.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help

.PHONY: demo
demo: ## run the decision service with simulated users and print how it learns
	CGO_ENABLED=0 $(GO) run ./cmd/noregret demo

# The race detector looks at the packages that start goroutines or guard something from them, in their code or in their
# tests. The others cannot race, and it would slow their arithmetic down tenfold. Nor does it look at the tests of the
# whole binary and of the pages, which run the packages' code once more, and of the sources, which only parse. It needs
# cgo, with which pebble would take the C form of zstd, a minute to compile; the tag is for the form in Go that noregret has.
concurrent = $(shell grep -rlE --include='*.go' --exclude-dir={lab,inputs} \
	'^[[:space:]]*go [a-zA-Z_.]+[^a-zA-Z_. ]|"sync(/atomic)?"|internal/parallel"' . | xargs -n 1 dirname | LC_ALL=C sort -u | \
	grep -vxE './(cmd/noregret|docs|internal/arch)')

.PHONY: test
test: ## run all tests; those of concurrent packages with the race detector, where there is a C compiler (RACE= for none)
ifeq ($(RACE),)
	@echo "NOTE: the tests run WITHOUT the race detector"
	$(GO) test -timeout 25m ./...
else
	GORACE=atexit_sleep_ms=10 CGO_ENABLED=1 $(GO) test -timeout 25m $(RACE) -tags pebblegozstd $(concurrent)
	CGO_ENABLED=0 $(GO) test -timeout 25m -short $$(comm -23 <($(GO) list -f '{{.Dir}}' ./... | sed 's|^$(CURDIR)|.|' | LC_ALL=C sort) \
		<(printf '%s\n' $(concurrent) | LC_ALL=C sort))
	@$(MAKE) --no-print-directory norace
endif

# The packages whose tests import internal/testsize.
.PHONY: montecarlo
montecarlo: ## tests with many random runs, in full (SHORT=-short for fewer); make test runs what the race detector has time for
	$(GO) test -timeout 1h $(SHORT) $$($(GO) list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... | \
		awk '/internal\/testsize/ {print $$1}')

# Those that call testsize.NoRace, and package pages, whose memory is another one under the race detector.
.PHONY: norace
norace: ## the tests that the race detector skips, in their short form; some have none, and only make montecarlo runs them
	@tests=$$(grep -rl --include='*_test.go' --exclude-dir={lab,inputs} 'testsize\.NoRace(' . | xargs awk \
		'/^func / {name = $$2; sub(/\(.*/, "", name)} /testsize\.NoRace\(/ {print name}' | LC_ALL=C sort -u | paste -sd '|'); \
	packages=$$(grep -rl --include='*_test.go' --exclude-dir={lab,inputs} 'testsize\.NoRace(' $(addsuffix /*_test.go,$(concurrent)) | \
		xargs -n 1 dirname | LC_ALL=C sort -u); \
	grep -Eq '^Test[A-Za-z0-9_]*(\|Test[A-Za-z0-9_]*)*$$' <<<"$$tests" || { echo "call testsize.NoRace in tests only: $$tests"; exit 1; }; \
	echo "$(GO) test -short -run '^('$$tests')\$$'" $$packages; \
	$(GO) test -timeout 25m -short -run "^($$tests)\$$" $$packages
	$(GO) test ./internal/pages

# What only this build has: the vectors of internal/dense, and what classify makes of them.
.PHONY: simd
simd: ## test the arithmetic by vectors, which releases for amd64 have (GOEXPERIMENT=simd)
	GOEXPERIMENT=simd $(GO) vet ./internal/dense
	GOEXPERIMENT=simd $(GO) test -short ./internal/dense
	GOEXPERIMENT=simd $(GO) test -short -run 'Design|Auto|DenseModel' ./classify

.PHONY: lab
lab: ## build and test the laboratory, the module lab, which reproduces measurements (see lab/README.md)
	$(MAKE) -C lab test

.PHONY: inputs
inputs: ## build and test the module inputs, whose program turns other sources into text (see docs/how-to/sources.md)
	$(MAKE) -C inputs build test

# Where the laboratory's targets went, for one release.
moved = bandits catastrophe contextual obd papers parameterfree validity $(addprefix pasto-,ablation arena cost drift figures \
	floors measure tables)
study = $(@:pasto-%=%)
contextual: study = contexts
pasto-drift: study = arena --drift
.PHONY: $(moved)
$(moved):
	@echo '"make $@" has moved: it is "noregret-lab $(study)" of the module lab: cd lab && go build ./cmd/noregret-lab' >&2; exit 2

.PHONY: lint
lint: fmt-check ## check formatting (gofumpt), the width of lines, go vet and staticcheck
	$(GO) test -count=1 -run Width ./internal/arch
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

.PHONY: fmt
fmt: ## format all files with gofumpt
	$(GO) tool gofumpt -w .

.PHONY: fmt-check
fmt-check: ## list the files that gofumpt would change; none is success
	@files=$$($(GO) tool gofumpt -l .) || exit 1; \
	if [ -n "$$files" ]; then echo "not formatted, run make fmt:"; echo "$$files"; exit 1; fi

.PHONY: arch
arch: ## check the architecture: floors, comments, no clock or global randomness
	$(GO) test -count=1 ./internal/arch

.PHONY: bench
bench: ## run the benchmarks with allocations (BENCH=pattern)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# The project's own packages count what an input reaches, not the libraries beside them: all targets share what the tests
# have compiled of those, and an input is new when it reaches new code here. Go's fuzzer sometimes ends with "context
# deadline exceeded" when the time is up, which is no finding: a finding always writes its input to a file.
.PHONY: fuzz
fuzz: ## fuzz every fuzz target for FUZZTIME each
	@rm -rf dist/fuzz; mkdir -p dist/fuzz; cache=$$($(GO) env GOCACHE)/fuzz; \
	packages=$$(grep -rl --include='*_test.go' --exclude-dir={lab,inputs} '^func Fuzz' . | xargs -n 1 dirname | LC_ALL=C sort -u); \
	$(GO) test -c -vet=off -gcflags='github.com/noregret/noregret/...=-d=libfuzzer' -o dist/fuzz/ $$packages || exit 1; \
	for dir in $$packages; do \
		test=$$PWD/dist/fuzz/$${dir##*/}.test; pkg=github.com/noregret/noregret/$${dir#./}; \
		targets=$$("$$test" -test.list '^Fuzz') && [ -n "$$targets" ] || { echo "$$dir has no fuzz targets here"; exit 1; }; \
		for target in $$targets; do \
			echo "$$pkg $$target"; \
			if out=$$(cd "$$dir" && "$$test" -test.run '^$$' -test.fuzz "^$$target\$$" \
				-test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 10x -test.fuzzcachedir "$$cache/$$pkg" 2>&1); then \
				tail -n 2 <<<"$$out" | head -n 1; \
			elif grep -q 'context deadline exceeded' <<<"$$out" && ! grep -q 'Failing input written' <<<"$$out"; then \
				echo "ok (the fuzzer ran out of time while stopping)"; \
			else \
				echo "$$out"; exit 1; \
			fi; \
		done || exit 1; \
	done

.PHONY: bench-compare
bench-compare: ## compare benchmarks with main by benchstat (BENCH=pattern, PKG=packages, BASE=commit, COUNT=runs)
	BENCH='$(BENCH)' bash .ci/bench-compare

.PHONY: bench-train
bench-train: ## examples learned from a CPU second, beside other libraries (DATA=sets, SETS=pattern, COUNT=runs, PYTHON=command)
	@bash .ci/bench-train

.PHONY: bench-memory
bench-memory: ## memory of training on a file of 2 GB; fails above 200 MB (DATA=sets, MB=size, LIMIT=megabytes)
	@bash .ci/bench-memory

.PHONY: cover
cover: ## measure test coverage: total on the screen, dist/cover.html to browse
	@mkdir -p dist
	$(GO) test -coverprofile=dist/cover.prof -coverpkg=./... ./...
	$(GO) tool cover -html=dist/cover.prof -o dist/cover.html
	$(GO) tool cover -func=dist/cover.prof | tail -n 1

.PHONY: build
build: ## build everything without cgo, the command into bin/noregret
	CGO_ENABLED=0 $(GO) build ./...
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -o bin/noregret ./cmd/noregret

# Nobody runs these programs, so they are neither optimized nor made for a debugger.
.PHONY: cross
cross: ## check that everything builds for Windows, with 32 bits (make portable does it for macOS, with 64)
	CGO_ENABLED=0 GOOS=windows GOARCH=386 $(GO) build -gcflags=all='-N -l -dwarf=false' -ldflags=-w ./...

# A fused multiply-add rounds once where two operations round twice, and would make results differ between
# architectures. Every package is checked; the modules lab, which prints tables, and inputs are not. Lines that ask for the operation
# by name may have it (math.FMA is exact everywhere).
.PHONY: portable
portable: ## check that everything builds for macOS on arm64, where no package has a fused operation
	@code=$$(GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -gcflags=all=-dwarf=false -ldflags=-w \
		-gcflags='github.com/noregret/noregret/...=-S -dwarf=false' ./... 2>&1) || \
		{ echo "the build for arm64 failed"; exit 1; }; \
	found=$$(grep -E '\sFN?M(ADD|SUB)[DS]\s' <<<"$$code" | grep -oE '[^ (]+\.go:[0-9]+' | grep -F '$(CURDIR)/' | sort -u | \
		while IFS=: read -r f n; do sed -n "$${n}p" "$$f" | grep -q 'math\.FMA(' || echo "$$f:$$n"; done); \
	if [ -n "$$found" ]; then echo "fused operations (wrap the product in float64()):"; echo "$$found"; exit 1; fi

# The claim of the same bytes on any machine, tried: arm64 under emulation (Debian's qemu-user) against this machine.
.PHONY: same-bytes
same-bytes: build ## train on arm64 under qemu-aarch64 and compare the model files with this machine's
	@command -v qemu-aarch64 >/dev/null || { echo "qemu-aarch64 is not installed (Debian: qemu-user)"; exit 1; }
	@mkdir -p dist && CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -o dist/noregret-arm64 ./cmd/noregret
	@bin/noregret generate fraud --rows 5000 --seed 1 --output dist/here.svm
	@qemu-aarch64 dist/noregret-arm64 generate fraud --rows 5000 --seed 1 --output dist/there.svm
	@cmp dist/here.svm dist/there.svm && echo "generate fraud: same bytes"
	@for run in f1:stamp kappa:stamp min:spade hmean:spade qmean:spade gmean:spade f1:cost-search f1:sgd-logistic \
		f1:plugin gmean:plugin f1:logistic f1:logistic-balanced f1:amp jaccard:amp; do \
		set -- --measure $${run%%:*} --algorithm $${run##*:} --passes 3 --positive 1 dist/here.svm; \
		bin/noregret train --model dist/here.json "$$@" >/dev/null 2>&1 && \
		qemu-aarch64 dist/noregret-arm64 train --model dist/there.json "$$@" >/dev/null 2>&1 && \
		cmp dist/here.json dist/there.json && echo "$$run: same bytes" || exit 1; \
	done
	@for run in f1:stamp gmean:spade f1:sgd-logistic; do \
		set -- --measure $${run%%:*} --algorithm $${run##*:} --rate auto --passes 3 --positive 1 dist/here.svm; \
		bin/noregret train --model dist/here.json "$$@" >/dev/null 2>&1 && \
		qemu-aarch64 dist/noregret-arm64 train --model dist/there.json "$$@" >/dev/null 2>&1 && \
		cmp dist/here.json dist/there.json && echo "$$run --rate auto: same bytes" || exit 1; \
	done

.PHONY: crash
crash: ## kill the service 110 times under load, and 240 times by disk errors and crash clones
	NOREGRET_FULL=1 $(GO) test -count=1 -timeout 30m -run 'TestCrash' -v ./server

ROUNDS ?= 25
.PHONY: cluster-faults
cluster-faults: ## break three nodes and three servers of NATS under load, in every way that is possible here; a table (ROUNDS=25 of each; two hours and a half)
	cd lab && CGO_ENABLED=0 $(GO) run ./cmd/noregret-lab faults --rounds $(ROUNDS)

.PHONY: archive
archive: ## write the next data directory that later versions must open, into server/testdata/archive
	$(GO) test -count=1 -run 'TestArchives$$' -v ./server -write-archive

CLUSTER_KILLS ?= 100
.PHONY: cluster-soak
cluster-soak: ## three nodes on this machine, of which 100 are killed under load, half of them the leading one (CLUSTER_KILLS=100)
	CLUSTER_KILLS=$(CLUSTER_KILLS) $(GO) test -count=1 -timeout 2h -run 'TestKills$$' -v ./internal/cli/demo/internal/drill

SOAK_MINUTES ?= 10
.PHONY: soak
soak: ## the service under load with full disks, limits, clock steps, kills and restores; its books must balance (SOAK_MINUTES=10; Linux)
	SOAK_MINUTES=$(SOAK_MINUTES) $(GO) test -count=1 -timeout 2h -run 'TestSoak$$' -v ./internal/cli/service

.PHONY: load
load: ## measure the service on this machine: decisions against bare handlers, durable feedback, memory (COMMAND=, another noregret)
	NOREGRET_LOAD_COMMAND=$(COMMAND) $(GO) test -timeout 30m -run '^$$' -bench 'Load' -benchtime 1x -v ./server
	$(GO) test -run '^$$' -bench 'LocalDecide' -benchmem ./client

.PHONY: bench-cluster
bench-cluster: ## measure three nodes of serve --cluster beside one on its own log, and how an empty node catches up
	$(GO) test -timeout 30m -run '^$$' -bench 'Cluster' -benchtime 1x -v ./server

.PHONY: recovery
recovery: ## measure how long the service takes to be ready after a crash, with 5 and 20 million items
	$(GO) test -timeout 60m -run '^$$' -bench 'Recovery' -benchtime 1x -v ./server

.PHONY: contextual-soak
contextual-soak: ## 100,000 units of a contextual experiment with late and lost feedback, killed in the middle
	NOREGRET_FULL=1 $(GO) test -timeout 30m -run ContextualSoak -v ./server

.PHONY: ofrep-js
ofrep-js: ## run the public OFREP provider of the JS SDK against the service (needs node and the npm registry)
	bash client/js/test.sh

.PHONY: js
js: ## test the JavaScript client: the vectors of policy.md, its types, both OpenFeature providers against the service
	bash js/test.sh

.PHONY: python
python: ## test the Python client: the vectors of policy.md, and calls and sums against services that are killed
	bash python/test.sh

.PHONY: lighthouse
lighthouse: ## measure the dashboard with Lighthouse; every page must have 100 except for performance (needs node, the npm registry and Chromium)
	bash server/lighthouse.sh

.PHONY: openapi-clients
openapi-clients: ## lint the OpenAPI document; generate three clients, compile and run them (needs node and the npm registry)
	bash client/openapi/test.sh

.PHONY: site
site: ## build the site of the documentation into dist/site (needs Python 3 and PyPI once)
	@test -x dist/venv/bin/mkdocs || python3 -m venv dist/venv
	@dist/venv/bin/pip install --quiet --requirement docs/site/requirements.txt
	@NO_MKDOCS_2_WARNING=1 dist/venv/bin/mkdocs build --quiet && echo dist/site/index.html

.PHONY: ci
ci: ## run the whole check of a change, as .ci/run does
	bash .ci/run

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin dist

.PHONY: help
help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
