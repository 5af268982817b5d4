# The product is built without cgo: one static program that is also its own init in any image.
export CGO_ENABLED = 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS = -s -w -X main.version=$(VERSION)

.PHONY: build demo test cheat torture lint bench bench-probe clean

build:
	go build -ldflags '$(LDFLAGS)' -o bin/trkr-validate ./cmd/trkr-validate

demo: build
	scripts/demo bin/trkr-validate

# Packages whose tests start boxes. They run one after the other: what attacks one engine must not meet another. And
# always: a daemon, or the program that they build and run, is nothing that the test cache knows of.
BOXED = ./sandbox/docker ./sandbox/gvisor ./validator/enginetest ./cmd/trkr-validate ./e2e

# Engine suites that cannot run here say so and are passed over, unless TRKR_REQUIRE_ENGINES names their engine.
test:
	go vet ./...
	go vet -tags defences ./e2e
	go test -timeout 20m $$(go list ./... | grep -v -F "$$(go list $(BOXED))")
	go test -p 1 -count=1 -timeout 30m $(BOXED)

# All ways to a false clear and all everyday situations on both engines, of which test tries each on one; and each way
# without what it is stopped by. It takes half an hour on a quiet machine.
cheat:
	scripts/cheat

# The attacker's suite, 100 kills at random moments and 100 runs in a row, on each engine; a shorter form is part of test.
torture:
	scripts/torture

lint:
	go run -modfile=tools/go.mod github.com/golangci/golangci-lint/v2/cmd/golangci-lint run
	go tool -modfile=tools/go.mod actionlint -ignore 'label "docker" is unknown' $$(ls examples/ci/*.yml | grep -v gitlab)

bench:
	scripts/bench

bench-probe:
	scripts/bench-probe

clean:
	rm -rf bin dist
