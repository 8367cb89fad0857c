#!/usr/bin/env bash
# Checks that need no model: format, include directions, banned calls, file and function lengths, shell scripts, clang-tidy. --fix formats in place.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' 'src/*.cpp' 'src/*.hpp' 'include/*.h' 'shim/*.h' 'tests/*.c' 'tests/*.h')
if [ "${1:-}" = --fix ]; then
  clang-format -i "${sources[@]}"
  exit 0
fi
echo "check: format of ${#sources[@]} files"
clang-format --dry-run --Werror "${sources[@]}"
echo "check: structure"
.toolchain/venv/bin/python scripts/tidy.py
echo "check: shell scripts"
shellcheck -x scripts/*.sh bench/*.sh .ci/run
echo "check: clang-tidy (needs build/release)"
git ls-files 'src/*.c' | grep -Ev '_test\.c$|_fuzz\.c$|_test_|^src/kernels/(cpu|mlx)/' | xargs -P "$(nproc)" -n 4 clang-tidy -p build/release --quiet 2>/dev/null
echo "check: passed"
