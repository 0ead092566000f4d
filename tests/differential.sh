#!/usr/bin/env bash
# Compares the engine's answers to random SQL, without noise, with those of DuckDB. Needs Python with venv,
# and the package `duckdb`, which it installs into a virtual environment; without these it is skipped.
#
#   tests/differential.sh                       2,000 statements of seed 1, as CI does
#   tests/differential.sh --seed 7 --only 123   one statement again, with both answers where they differ
#   tests/differential.sh --seed 7 --statements 500
#
# The command is the one that `cargo test --workspace` builds; DIFFERENTIAL names another.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2.0.0
python=python3
"$python" -c 'import ensurepip, venv' 2>/dev/null || { echo "skipped: no Python with venv"; exit 0; }

# The environment is kept, and named by what is in it.
venv="${XDG_CACHE_HOME:-$HOME/.cache}/hushtable/duckdb-$version"
if ! "$venv/bin/python" -c 'import duckdb' 2>/dev/null; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "duckdb==$version" ||
        { echo "skipped: duckdb $version cannot be installed here"; exit 0; }
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tool=${DIFFERENTIAL:-${CARGO_TARGET_DIR:-target}/debug/differential}
"$tool" --out "$folder" "$@"
"$venv/bin/python" tests/differential.py "$folder"
