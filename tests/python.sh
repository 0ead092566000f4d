#!/usr/bin/env bash
# Installs the package for Python into a fresh virtual environment with the newest pandas, Polars, pyarrow and DuckDB,
# checks the types of the package and its examples, and runs python/tests. Without an argument it tests what
# `cargo test --workspace` has built; an argument names a wheel. Needs Python 3.10 or later with venv, and the network
# for pip; without these it is skipped.
#
#   tests/python.sh                    the newest packages
#   tests/python.sh --lowest           the oldest that the package supports
#   tests/python.sh hushtable-….whl    a wheel, as maturin builds it
set -euo pipefail
cd "$(dirname "$0")/.."
python=python
"$python" --version >/dev/null 2>&1 || python=python3
"$python" -c 'import ensurepip, sys, venv; assert sys.version_info >= (3, 10)' 2>/dev/null ||
    { echo "skipped: no Python 3.10 with venv"; exit 0; }

frames=(altair duckdb ibis-framework narwhals pandas pandas-stubs polars pyarrow pyarrow-stubs vl-convert-python)
if [ "${1:-}" = --lowest ]; then
    frames=(altair duckdb narwhals "numpy<2" pandas==2.2.0 polars==1.5.0 pyarrow==15.0.0 vl-convert-python)
    lowest=yes
    shift
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Windows calls the folder otherwise.
bin=$folder/venv/bin
[ -d "$bin" ] || bin=$folder/venv/Scripts
"$bin/pip" install --quiet --disable-pip-version-check mypy pyright pytest "${frames[@]}" ||
    { echo "skipped: the packages cannot be installed here"; exit 0; }

if [ $# -gt 0 ]; then
    wheel=$1
else
    # A test is selected, so that features are those of the tests: with others, all is built again.
    cargo build --quiet --workspace --lib --test house --locked
    wheel=$("$bin/python" tests/wheel.py "${CARGO_TARGET_DIR:-target}/debug" "$folder")
fi
"$bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"

# Away from the sources, so that it is the wheel that is tested.
cp -r python/tests examples/python "$folder/"
cp -r README.md pyproject.toml docs examples "$folder/"
cd "$folder"
if [ -z "${lowest:-}" ]; then
    "$bin/mypy" --strict python tests
    "$bin/python" -m mypy.stubtest hushtable._hushtable
    "$bin/pyright" --pythonpath "$bin/python" python tests "$("$bin/python" -c 'import hushtable; print(hushtable.__path__[0])')"
fi
for example in python/*.py; do "$bin/python" "$example" >/dev/null; done
"$bin/python" -m pytest --quiet tests
