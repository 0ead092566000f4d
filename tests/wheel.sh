#!/usr/bin/env bash
# Builds the wheel (or takes the one that is named), installs it into a fresh virtual environment, and
# runs the README's first question with its command and its package. Needs Python with maturin for the build.
set -euo pipefail
cd "$(dirname "$0")/.."
python=python
"$python" --version >/dev/null 2>&1 || python=python3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ $# -gt 0 ]; then
    wheel=$1
else
    maturin build --release --locked --out "$folder"
    wheel=$(echo "$folder"/*.whl)
fi
"$python" -m venv "$folder/venv"
# Windows calls the folder otherwise.
bin=$folder/venv/bin
[ -d "$bin" ] || bin=$folder/venv/Scripts
"$bin/pip" install --quiet --no-index --no-deps "$wheel"

# The README's own question, on a copy of the example: its ledger stays as it is.
cp examples/shop/hushtable.toml examples/shop/visits.csv "$folder"
sql=$(sed -n '/^ *"SELECT town/,/DESC"$/p' README.md | head -n 2 | tr -d '"\n')
answer=$("$bin/hushtable" query --contract "$folder/hushtable.toml" "$sql")
printf '%s\n' "$answer" | head -n 3
case $answer in
    town,customers*Harbourton,*) ;;
    *) echo "the wheel's answer is not the README's" >&2; exit 1 ;;
esac

# A wheel of the command alone has no package.
if "$python" -m zipfile -l "$wheel" | grep '^hushtable/__init__.py' >/dev/null; then
    answer=$(cd "$folder" && "$bin/python" -c '
import hushtable as ht
release = ht.open("hushtable.toml").analyst("ana").sql("'"$sql"'")
print(release.was_free, release.to_dicts()[0]["town"])')
    # The command has asked it before.
    [ "$answer" = "True Harbourton" ] || { echo "the package says: $answer" >&2; exit 1; }
fi
wc -c "$wheel" "$bin"/hushtable* | awk '$2 != "total" { print $1 / 1e6 " MB", $2 }'
echo "1 passed, 0 failed"
