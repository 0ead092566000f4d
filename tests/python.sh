#!/usr/bin/env bash
# Builds the wheel in the dev profile (or takes the one that is named), installs it into a fresh virtual environment
# with the newest pandas, Polars, pyarrow and DuckDB, checks the types of the package and its examples, and runs
# python/tests. Needs Python 3.10 or later with venv, and the network for pip.
set -euo pipefail
cd "$(dirname "$0")/.."
python=python
"$python" --version >/dev/null 2>&1 || python=python3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Windows calls the folder otherwise.
bin=$folder/venv/bin
[ -d "$bin" ] || bin=$folder/venv/Scripts
"$bin/pip" install --quiet --disable-pip-version-check \
    altair duckdb maturin mypy narwhals pandas pandas-stubs polars pyarrow pyarrow-stubs pytest vl-convert-python
if [ $# -gt 0 ]; then
    wheel=$1
else
    "$bin/maturin" build --profile dev --locked --out "$folder/wheels"
    wheel=$(echo "$folder"/wheels/*.whl)
fi
"$bin/pip" install --quiet --no-index --no-deps "$wheel"

# Away from the sources, so that it is the wheel that is tested.
cp -r python/tests examples/python "$folder/"
cp -r README.md pyproject.toml docs examples "$folder/"
cd "$folder"
"$bin/mypy" --strict python tests
"$bin/python" -m mypy.stubtest hushtable._hushtable
for example in python/*.py; do "$bin/python" "$example" >/dev/null; done
"$bin/python" -m pytest --quiet tests
