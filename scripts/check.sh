#!/usr/bin/env bash
# Checks that need no model: format, include directions, banned calls, file and function lengths, shell scripts. --fix formats in place.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' 'include/*.h' 'shim/*.h' 'tests/*.c' 'tests/*.h')
if [ "${1:-}" = --fix ]; then
  clang-format -i "${sources[@]}"
  exit 0
fi
echo "check: format of ${#sources[@]} files"
clang-format --dry-run --Werror "${sources[@]}"
echo "check: structure"
.toolchain/venv/bin/python scripts/tidy.py
echo "check: shell scripts"
shellcheck scripts/*.sh .ci/run
