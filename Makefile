# A thin front: everything real is in CMake and in scripts/. `make` builds build/release/mlxcel.
CMAKE := .toolchain/venv/bin/cmake
CTEST := .toolchain/venv/bin/ctest
JOBS ?= $(shell nproc)
PROMPT ?= Explain in two sentences why the sky is blue.

.PHONY: all setup build demo model test test-asan fuzz check format clean

all: build

setup:
	@scripts/setup.sh

build: setup
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build --preset release -j $(JOBS)

model: build
	@scripts/demo-model.sh

# Everything from a clean clone to a real model's answer.
demo: model
	@build/release/mlxcel generate -m models/smollm2-135m-instruct --chat -p "$(PROMPT)" -n 96

# Tiers fast and full.
test: model
	@$(CTEST) --test-dir build/release -L 'fast|full' --no-tests=error --output-on-failure -j $(JOBS)

# The fast tier under AddressSanitizer and UndefinedBehaviorSanitizer.
test-asan: setup
	@$(CMAKE) --preset asan --log-level=WARNING
	@$(CMAKE) --build --preset asan -j $(JOBS)
	@$(CTEST) --test-dir build/asan -L fast --no-tests=error --output-on-failure -j $(JOBS)

fuzz: setup
	@$(CMAKE) --preset fuzz --log-level=WARNING
	@$(CMAKE) --build --preset fuzz -j $(JOBS)

# Format, include directions, static checks: what CI runs before the tests.
check: build
	@scripts/check.sh

format:
	@scripts/check.sh --fix

clean:
	rm -rf build
