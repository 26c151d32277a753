# LiveFetch: every way to build, try and check it. `make` alone lists them.
# Needs Swift 6.1 or later; `make test` needs 6.2. The C libraries are installed by `make deps`.

PORT ?= 8080
ONLY ?=
SECONDS ?= 60
# How many tests run at the same time: many of them start servers with threads of their own.
TESTS_AT_ONCE ?= 4
PACKAGES := libmicrohttpd-dev libsqlite3-dev libcurl4-openssl-dev zlib1g-dev libpq-dev
# The suites of the service that run over both stores. The others test what only files have (the log, damage,
# other processes, values that are not of their column's type, NULL in keys, rows without a key), SQLite's
# own statements and functions, or what does not depend on the store. CachingContract is one of them: a
# commit in any database of a PostgreSQL server moves the tokens of all of them, and so do log flushes.
BOTH_STORES := AccessProof|$(strip \
  )Access(Deleting|Fault|Leak|Live|Parameter|Partner|PartnerProof|Reading|Saving|RuleMatrix|Time|Token)|$(strip \
  )BatchInSave|CodePointOrder|CredentialEnd|DeleteRule|DerivedChain|$(strip \
  )DictionariesContract|DictionariesLive|DisconnectedClients|EntityName|$(strip \
  )ErrorContract|EveryFailure|FetchContract|FetchedKeys|FetchParity|GroupedDate|HeadRefusal|Idempotency|$(strip \
  )JSONValues|LongPoll|ManyFetches|ManyFetchesStream|MergePolicy|Migration(Loss)?|$(strip \
  )Model(Contract|Promise|Rules)|Nesting|OrderedElement|OutdatedToken|$(strip \
  )PreconditionForm|PredicateContract|Quota|RequiredKey|SaveContract|ScopeMatrix|$(strip \
  )SectionOption|ServerTiming|SinceNow|StatesBetween|StreamContract|TermLimit|$(strip \
  )Transformable(Contract|Rule)|ViewKey|WindowContract
SOURCES := $(wildcard Package.swift Sources Tests)
# The program with the address sanitizer, for requests that no client would send.
SANITIZED := swift build -c release --sanitize address --scratch-path .build-asan

SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help deps run test browser conformance openapi schema docs docc figures dist proxies bench fuzz harden chaos soak sanitize lint format

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

deps: ## install the C libraries that are missing (Debian, Ubuntu)
	@bash .ci/install $(PACKAGES)

# Without JWTs, whose libraries take two fifths of the time of a build. `swift build` has them.
run: deps ## build and serve the sample data on http://127.0.0.1:$(PORT) (PORT=8080)
	@swift build -c release --product livefetch --disable-default-traits
	@exec "$$(swift build -c release --show-bin-path)/livefetch" demo --port $(PORT)

# Newcomer is a package of its own, whose cached plan of a build would miss new files of the library.
test: deps ## build everything and run the tests
	@echo "Builds the package with its tests, then runs about 2,800 tests. On two cores the first"
	@echo "build takes about 9 minutes and the tests take about 13; a loaded machine takes longer."
	@bash .ci/install curl jq logrotate openssl postgresql python3 python3-yaml sqlite3
	@bash .ci/install --optional python3-jsonschema
	@swift build
	@swift test --package-path Tests/Newcomer --scratch-path .build-newcomer \
	  --disable-build-manifest-caching
	@swift build --build-tests
	@echo "The tests of the contract, over PostgreSQL:"
	@LIVEFETCH_TESTED_STORE=postgres SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_ONCE) \
	  python3 .ci/tests.py --filter 'ServiceTests\.($(BOTH_STORES))Tests'
	@echo "Random requests, credentials, damage, and the order of answers, 5 s each; Tests/Faults/run.py --seed repeats them:"
	@program="$$(swift build --show-bin-path)/livefetch"; \
	  python3 Tests/Faults/run.py --each 5 --slow 5 --only R8,TOKENS,DAMAGE,ORDER "$$program" && \
	  /usr/bin/env PATH="/usr/bin:$$PATH" python3 Tests/OpenAPI/short.py "$$program" 5
	@echo "All tests, over SQLite files:"
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_ONCE) python3 .ci/tests.py

browser: deps ## run the web page's tests in headless Chromium; screenshots in .build-shots
	@bash .ci/install --optional chromium nodejs node-typescript node-react node-react-dom python3-pip postgresql
	@node --test Tests/Browser/unit/*.test.mjs
	@if command -v tsc > /dev/null; then tsc -p Tests/Browser/types; fi
	@swift build -c release --product livefetch
	@node Tests/Browser/run.mjs "$$(swift build -c release --show-bin-path)/livefetch" --shots .build-shots

conformance: deps ## check the JavaScript and the Python client by Public/conformance.py
	@bash .ci/install python3
	@swift build --product livefetch
	@python3 Public/conformance.py --livefetch "$$(swift build --show-bin-path)/livefetch" \
	  -- python3 Tests/Conformance/python_client.py
	@python3 Public/conformance.py --livefetch "$$(swift build --show-bin-path)/livefetch" \
	  -- python3 Tests/Conformance/python_client.py --async
	@bash .ci/install --optional nodejs
	@python3 Public/conformance.py --livefetch "$$(swift build --show-bin-path)/livefetch" \
	  -- node Tests/Conformance/javascript_client.mjs

openapi: deps ## check /openapi.json by a validator, and the server's answers against it
	@bash .ci/install python3 python3-venv
	@test -x .build-openapi/bin/python || python3 -m venv .build-openapi
	@.build-openapi/bin/python -m pip install -q "openapi-spec-validator==0.9.*"
	@swift build --product livefetch
	@.build-openapi/bin/python Tests/OpenAPI/check.py "$$(swift build --show-bin-path)/livefetch"

schema: ## check the model files' JSON Schema by a validator, and the samples against it
	@bash .ci/install python3 python3-venv
	@test -x .build-openapi/bin/python || python3 -m venv .build-openapi
	@.build-openapi/bin/python -m pip install -q "jsonschema==4.*"
	@.build-openapi/bin/python Tests/ModelSchema/check.py

docs: ## render the manual, Public/docs/*.md, to the pages that the program carries
	@bash .ci/install python3-markdown-it
	@/usr/bin/env PATH="/usr/bin:$$PATH" python3 .ci/manual.py

docc: deps ## build the Swift library's documentation; links that lead nowhere fail
	@bash .ci/docs .build-docs

figures: deps ## count the Swift library's public symbols and lines
	@swift build --target LiveFetchPredicates
	@python3 .ci/figures.py "$$(swift build --show-bin-path)"

dist: deps ## pack a release into dist/: tarball, Debian package, Python wheel, checksums
	@bash .ci/install python3
	@bash docker/build.sh .build-dist
	@python3 .ci/dist.py .build-dist/opt/livefetch dist
	@# Packed again, under another time zone and umask, it has the same bytes.
	@umask 077; TZ=Asia/Tokyo python3 .ci/dist.py .build-dist/opt/livefetch .build-again > /dev/null
	@diff -r dist .build-again
	@bash Tests/Packages/run dist

proxies: deps ## try the settings in docker/deploy/ with the real proxies, and three servers over PostgreSQL
	@bash .ci/install nginx-light haproxy caddy postgresql python3
	@swift build -c release --product livefetch
	@python3 Tests/Proxies/run.py "$$(swift build -c release --show-bin-path)/livefetch"

bench: deps ## measure against the limit and the peers (ONLY=P1,P2 for some of it)
	@bash .ci/install python3
	@bash .ci/install --optional wrk sqlite3 postgresql python3-venv
	@python3 Benchmarks/bench.py $(if $(ONLY),--only $(ONLY)) $(ARGS)

fuzz: ## look for input that traps, hangs or does not read back (SECONDS=60)
	@bash Tests/Fuzz/run $(SECONDS)

harden: deps ## attacks by `fuzz`, `chaos` and schemathesis, an hour each or SECONDS; libmicrohttpd 1.0
	@bash .ci/install python3 python3-venv
	@test -x .build-openapi/bin/python || python3 -m venv .build-openapi
	@.build-openapi/bin/python -m pip install -q "schemathesis==4.*"
	@swift build -c release --product livefetch
	@$(SANITIZED) --product livefetch
	@seconds=$(if $(filter command,$(origin SECONDS)),$(SECONDS),3600); \
	  program="$$(swift build -c release --show-bin-path)/livefetch"; failed=0; \
	  bash Tests/Fuzz/run --each $$seconds || failed=1; \
	  rm -f .build-asan/report.*; \
	  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:log_path=$$PWD/.build-asan/report \
	    python3 Tests/Faults/run.py --soak --each $$seconds --only R8,TOKENS \
	    "$$($(SANITIZED) --show-bin-path)/livefetch" || failed=1; \
	  head -n 40 .build-asan/report.* 2> /dev/null; \
	  python3 Tests/Faults/run.py --soak --each $$seconds --only R9,DAMAGE "$$program" || failed=1; \
	  .build-openapi/bin/python Tests/OpenAPI/generated.py "$$program" \
	    .build-openapi/bin/schemathesis $$seconds || failed=1; \
	  bash Tests/HTTPLibrary/run || failed=1; \
	  exit $$failed

chaos: deps ## do faults to real servers, a few minutes (ONLY=R1,R2 for some; ARGS="--seed 7")
	@swift build -c release --product livefetch
	@python3 Tests/Faults/run.py $(if $(ONLY),--only $(ONLY)) $(ARGS) \
	  "$$(swift build -c release --show-bin-path)/livefetch"

soak: ## the same in its long forms, about three hours, or SECONDS each (ONLY, ARGS="--kills 500")
	@$(MAKE) chaos \
	  ARGS="--soak $(if $(filter command,$(origin SECONDS)),--each $(SECONDS)) $(ARGS)"

sanitize: deps ## run the tests under the thread and the address sanitizer (ONLY=thread, FILTER=…)
	@bash Tests/Sanitizers/run $(if $(ONLY),$(ONLY),thread address)

lint: ## check the style of the Swift sources, and that the manual's pages are current
	@swift format lint --strict -r $(SOURCES)
	@bash .ci/install --optional python3-markdown-it
	@if /usr/bin/python3 -c 'import markdown_it' 2> /dev/null; then \
	  /usr/bin/python3 .ci/manual.py --check; fi

format: ## bring the Swift sources into style
	@swift format -i -r $(SOURCES)
