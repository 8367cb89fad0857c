"""Structural rules of the tree, checked in CI: include directions, lengths, banned calls, unfinished marks, unique names, dead files."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 70

# What each folder of src/ may include from other folders. Tests may also include their own folder's test helpers.
ALLOWED = {
    "base": set(),
    "contract": {"base"},
    "checkpoint": {"base"},
    "kernels": {"base"},
    "emit": {"base", "contract", "kernels"},
    "artifact": {"base", "contract"},
    "families": {"base", "contract", "checkpoint", "emit", "artifact"},
    "tokenizer": {"base"},
    "runtime": {"base", "contract", "checkpoint", "kernels", "artifact"},
    "engine": {"base", "checkpoint", "artifact", "runtime", "tokenizer"},
    "qualify": {"base", "contract", "kernels", "emit", "artifact"},
    "oracle": {"base", "contract", "checkpoint", "kernels", "emit", "families", "artifact", "runtime", "qualify"},
    "api": {"base", "contract", "checkpoint", "kernels", "families", "artifact", "runtime", "engine", "tokenizer", "qualify"},
    # below the sessions: it times single calls
    "bench": {"base", "checkpoint", "kernels", "artifact", "runtime", "engine", "api"},
    # developer subcommands only (bench, cache, contract, oracle, capabilities); everything else goes through the public header
    "cli": {"base", "artifact", "contract", "oracle", "qualify", "bench"},
}
IREE_ALLOWED = {"runtime"}  # other iree/ headers than iree/base/api.h
BANNED = {
    "strcpy": "memcpy with a known size, or snprintf",
    "strcat": "mlxcel_strbuf_t",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "fgets",
    "atoi": "strtol with its error checks",
    "atof": "strtod with its error checks",
    "system": "posix_spawn or fork and exec",
    "popen": "posix_spawn or fork and exec",
    "tmpnam": "mkstemp",
    "mktemp": "mkstemp",
    "strtok": "an index into a string view",
}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
INCLUDE = re.compile(r'^#include "([^"]+)"')


def source_files() -> list[pathlib.Path]:
    return sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h"))


def check_includes(path: pathlib.Path, lines: list[str]) -> list[str]:
    module = path.relative_to(ROOT / "src").parts[0]
    problems = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match or match[1] == "iree/base/api.h":
            continue
        target = match[1].split("/")[0]
        if target == "iree" and module not in IREE_ALLOWED:
            problems.append(f"{path}:{number}: {match[1]}: only src/runtime may include IREE's headers")
        elif target in ALLOWED and target != module and target not in ALLOWED[module]:
            problems.append(f"{path}:{number}: src/{module} may not include src/{target}")
    return problems


def check_text(path: pathlib.Path, lines: list[str]) -> list[str]:
    problems = [f"{path}: {len(lines)} lines, over {FILE_LINES_MAX}: split it by concept"] if len(lines) > FILE_LINES_MAX else []
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            problems.append(f"{path}:{number}: unfinished: {line.strip()}")
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line.split("//")[0])
        for name, instead in BANNED.items() if "_test" not in path.name else ():
            if re.search(rf"(?<![\w.>]){name}\s*\(", code):
                problems.append(f"{path}:{number}: {name}() is banned; use {instead}")
    return problems


def check_functions(path: pathlib.Path, lines: list[str]) -> list[str]:
    """A function runs from a line that ends in `{` and begins in column 0 (no struct, enum, union, array) to the next `}` in column 0."""
    problems, start = [], None
    for number, line in enumerate(lines, 1):
        opens = line.rstrip().endswith("{") and line[:1].strip() and "(" in line and not line.startswith(("#", "typedef", "extern"))
        if start is None and opens:
            start = number
        elif start is not None and line.startswith("}"):
            length = number - start + 1
            if length > FUNCTION_LINES_MAX and "long: " not in lines[start - 2]:
                problems.append(f"{path}:{start}: a function of {length} lines; over {FUNCTION_LINES_MAX} needs a comment `// long: <reason>` above it")
            start = None
    return problems


def check_names(paths: list[pathlib.Path]) -> list[str]:
    seen: dict[str, pathlib.Path] = {}
    problems = []
    for path in paths:
        if path.name in seen:
            problems.append(f"{path}: the file name is used by {seen[path.name]} already")
        seen[path.name] = path
    return problems


def check_dead(paths: list[pathlib.Path]) -> list[str]:
    """Every source is named by a CMake file (or a glob in it), every header is included somewhere."""
    cmake = "\n".join(p.read_text() for p in list((ROOT / "src").rglob("*.cmake")) + list((ROOT / "src").rglob("CMakeLists.txt")))
    text = "\n".join(p.read_text() for p in paths)
    problems = []
    for path in paths:
        stem = re.sub(r"_(test|fuzz)$", "", path.stem)  # tests and fuzz targets are often declared by a loop over stems
        if path.suffix == ".c" and path.name not in cmake and stem not in cmake and not re.search(r"GLOB[^)]*" + re.escape(path.name.split("_")[0]), cmake):
            problems.append(f"{path}: no CMake file names it")
        if path.suffix == ".h" and f'/{path.name}"' not in text and f'"{path.name}"' not in text:
            problems.append(f"{path}: nothing includes it")
    return problems


def main() -> int:
    paths = source_files()
    problems = check_names(paths) + check_dead(paths)
    for path in paths:
        lines = path.read_text().splitlines()
        shown = path.relative_to(ROOT)
        problems += check_includes(path, lines) + [p.replace(str(path), str(shown)) for p in check_text(path, lines) + check_functions(path, lines)]
    for problem in problems:
        print(problem.replace(f"{ROOT}/", ""))
    print(f"tidy: {len(paths)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
