#!/usr/bin/env bash
# Does with a command (or a wheel of the command alone) what the release workflow does with those that it has built,
# and looks into what comes of it. Needs Python; the bills of materials need cargo-cyclonedx and are skipped without it.
#
#   tests/release.sh target/debug/hushtable
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "$*" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/built"
wheel=$1
case $wheel in
    *.whl) ;;
    *)
        # The least that installs, with the command where maturin puts it.
        wheel=$folder/built/hushtable-0-py3-none-any.whl
        strip -o "$folder/hushtable" "$1"
        python3 - "$folder/hushtable" "$wheel" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w") as wheel:
    wheel.write(sys.argv[1], "hushtable-0.data/scripts/hushtable")
    about = "hushtable-0.dist-info/"
    wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: hushtable\nVersion: 0\n")
    wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
    wheel.writestr(about + "RECORD", "")
PYTHON
        ;;
esac
tests/wheel.sh "$wheel"

# An archive holds the same command, and what it writes about itself.
for name in hushtable-test-linux hushtable-test-windows; do .ci/archive "$wheel" "$name" "$folder/built"; done
mkdir "$folder/unpacked"
tar -C "$folder/unpacked" -xzf "$folder/built/hushtable-test-linux.tar.gz"
python3 -m zipfile -e "$folder/built/hushtable-test-windows.zip" "$folder/unpacked"
diff --recursive "$folder"/unpacked/hushtable-test-* || fail "the archives differ"
cd "$folder/unpacked/hushtable-test-linux"
./hushtable --version | grep -q '^hushtable ' || fail "the archive's command does not run"
for file in README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT; do [ -s "$file" ] || fail "no $file"; done
for shell in bash fish zsh powershell elvish; do
    grep -q hushtable "completions/hushtable.$shell" || fail "no completions for $shell"
done
bash -n completions/hushtable.bash
for page in hushtable hushtable-query hushtable-budget; do
    grep -q '^\.TH hushtable' "man1/$page.1" || fail "no man page $page"
done
python3 -c 'import json; json.load(open("hushtable.schema.json"))["properties"]["tables"]'
cd "$OLDPWD"

# A release has them, with a bill of materials and checksums.
if command -v cargo-cyclonedx >/dev/null; then
    .ci/gather "$folder/built" "$folder/files"
    (cd "$folder/files" && sha256sum --check --strict --quiet SHA256SUMS)
    [ "$(wc -l <"$folder/files/SHA256SUMS")" = "$(find "$folder/files" -type f ! -name SHA256SUMS | wc -l)" ] ||
        fail "not every file has a checksum"
    python3 - "$folder/files" <<'PYTHON'
import json, sys
for file, crate, some in [
    ("hushtable", "hushtable-cli", {"clap"}),
    ("hushtable-wheel", "hushtable-python", {"clap", "pyo3", "pyo3-arrow"}),
]:
    bill = json.load(open(f"{sys.argv[1]}/{file}.cdx.json"))
    names = {component["name"] for component in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX", bill["bomFormat"]
    assert bill["metadata"]["component"]["name"] == crate
    assert some | {"datafusion", "rusqlite", "hushtable-noise"} <= names, sorted(names)
    assert any(name.startswith("windows-") for name in names), "other systems are missing"
    assert not {"insta", "proptest", "sqllogictest"} & names, "what only tests use"
    print(file, len(names), "components")
PYTHON
else
    echo "skipped: no cargo-cyclonedx for the bill of materials"
fi
ls "$folder"/built "$folder"/files 2>/dev/null || true
echo "1 passed, 0 failed"
