#!/usr/bin/env bash
# Sets up what the build needs: Debian packages, a pinned Python environment (CMake, the StableHLO compiler, test tools), the Rust crates and the IREE runtime's
# source. Idempotent and resumable: each step is skipped when its inputs haven't changed since it last succeeded.
#   scripts/setup.sh [--quiet]
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
toolchain=$root/.toolchain
quiet=0
case "${1:-}" in
  "") ;;
  --quiet) quiet=1 ;;
  *) echo "usage: scripts/setup.sh [--quiet]" >&2; exit 2 ;;
esac
# shellcheck source=scripts/pins.env
. scripts/pins.env
mkdir -p "$toolchain/stamps"

say() { [ "$quiet" = 1 ] || printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# step NAME INPUT... : true if NAME must run, because its inputs differ from those of its last success.
digest_of() { cat "$@" | sha256sum | cut -d' ' -f1; }
step_is_done() { local name=$1; shift; [ "$(cat "$toolchain/stamps/$name" 2>/dev/null)" = "$(digest_of "$@")" ]; }
step_done() { local name=$1; shift; digest_of "$@" >"$toolchain/stamps/$name"; }

install_packages() {
  local missing=() name
  while read -r name _; do
    case "$name" in ''|'#'*) continue ;; esac
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
  done <scripts/debian-packages.txt
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    fail "missing Debian packages; run: sudo apt-get install -y ${missing[*]}"
  fi
  say "installing Debian packages: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$toolchain/apt.log" 2>&1 ||
    fail "apt-get failed; see $toolchain/apt.log"
}

check_rust() {
  command -v cargo >/dev/null || fail "cargo not found; install Rust >= $RUST_MINIMUM (https://rustup.rs)"
  local version
  version=$(rustc --version | cut -d' ' -f2)
  [ "$(printf '%s\n%s\n' "$RUST_MINIMUM" "$version" | sort -V | head -n1)" = "$RUST_MINIMUM" ] ||
    fail "Rust $version is too old; install Rust >= $RUST_MINIMUM (https://rustup.rs)"
}

python_environment() {
  local python
  python=$(command -v python3.11 || command -v python3) || fail "python3 not found; install Python 3.11"
  say "Python environment ($("$python" --version 2>&1)); about 150 MB to download"
  # An interrupted creation leaves an interpreter without pip: begin anew.
  "$toolchain/venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$toolchain/venv"
  "$toolchain/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r scripts/requirements.txt
}

rust_sources() {
  say "Rust crates and the IREE runtime's source"
  cargo fetch --quiet --locked --manifest-path third_party/iree-runtime/Cargo.toml
  cargo fetch --quiet --locked --manifest-path shim/text/Cargo.toml
  local manifest
  manifest=$(cargo metadata --locked --offline --format-version 1 --manifest-path third_party/iree-runtime/Cargo.toml |
    "$toolchain/venv/bin/python" -c 'import json, sys
print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == sys.argv[1]))' "$IREE_RUNTIME_CRATE")
  ln -sfn "$(dirname "$manifest")/iree" "$toolchain/iree-source"
}

if ! step_is_done packages scripts/debian-packages.txt; then
  install_packages
  step_done packages scripts/debian-packages.txt
fi
check_rust
if ! step_is_done python scripts/requirements.txt || [ ! -x "$toolchain/venv/bin/cmake" ]; then
  python_environment
  step_done python scripts/requirements.txt
fi
locks=(third_party/iree-runtime/Cargo.lock shim/text/Cargo.lock scripts/pins.env)
if ! step_is_done rust "${locks[@]}" || [ ! -f "$toolchain/iree-source/runtime/src/iree/base/api.h" ]; then
  rust_sources
  step_done rust "${locks[@]}"
fi
say "ready"
