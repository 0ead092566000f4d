#!/usr/bin/env bash
# Builds and checks the package for R with a given command: `R CMD check` has to find nothing.
# Without R it is skipped.
#
#   tests/r.sh target/debug/hushtable
set -euo pipefail
command=$(realpath "$1")
cd "$(dirname "$0")/.."
command -v R >/dev/null || { echo "skipped: no R here"; exit 0; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HUSHTABLE_COMMAND=$command HUSHTABLE_SHOP=$PWD/examples/shop
# The time of a machine is compared with that of a server otherwise.
export _R_CHECK_SYSTEM_CLOCK_=0
unset HUSHTABLE_CONTRACT HUSHTABLE_ANALYST
cp -r r "$folder/hushtable"
cd "$folder"
R CMD build --no-manual hushtable >build.log 2>&1 || { cat build.log; exit 1; }
R CMD check --no-manual hushtable_*.tar.gz >check.log 2>&1 || true
if ! grep -qx 'Status: OK' check.log; then
    cat check.log hushtable.Rcheck/tests/*.fail 2>/dev/null
    exit 1
fi
echo "R CMD check: OK"
