#!/usr/bin/env bash
# Builds the image (or takes the one that is named) and asks the README's first question with it: without
# a network, on a read-only file system, as the owner of the data. Then it tries what must not work.
# Needs docker or podman; CONTAINER_ENGINE says which.
set -euo pipefail
cd "$(dirname "$0")/.."

engine=${CONTAINER_ENGINE:-}
for known in docker podman; do
    [ -n "$engine" ] || ! "$known" info >/dev/null 2>&1 || engine=$known
done
[ -n "$engine" ] || { echo "neither docker nor podman works here" >&2; exit 1; }

image=${1:-hushtable:test}
[ $# -gt 0 ] || "$engine" build --tag "$image" .

folder=$(mktemp -d)
container=hushtable-test-$$
export LC_ALL=C
trap '"$engine" rm --force "$container" >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }

# The data have an owner without rights, as most people are.
owner=$(id -u):$(id -g)
[ "${owner%%:*}" != 0 ] || owner=1000:1000
mkdir "$folder/data"
cp examples/shop/hushtable.toml examples/shop/visits.csv "$folder/data"
chown -R "$owner" "$folder/data"
chmod 755 "$folder" "$folder/data"
run=(run --network none --user "$owner")
locked=(--init --read-only)
if [ "$engine" = podman ]; then
    # It maps users unless it is told to keep them, and has folders in memory unless it is told not to.
    [ "$(id -u)" = 0 ] || run+=(--userns keep-id)
    locked+=(--read-only-tmpfs=false)
fi
data=$folder/data:/data

# The words of docs/install.md.
hushtable() { "$engine" "${run[@]}" --rm "${locked[@]}" --volume "$data" "$image" "$@"; }
# A command that must fail by what is written after the name: refused WORDS COMMAND…
refused() {
    local words=$1 said
    shift
    if said=$("$@" 2>&1); then fail "it worked, without '$words': $*"; fi
    case $said in
        *panicked*) fail "a panic: $said" ;;
        *"error: "*"$words"*"hint: "*) ;;
        *) fail "no error with '$words': $said" ;;
    esac
}

# The README's own question, and the budget after it.
sql=$(sed -n '/^ *"SELECT town/,/DESC"$/p' README.md | head -n 2 | tr -d '"\n')
answer=$(hushtable query "$sql")
printf '%s\n' "$answer" | head -n 3
case $answer in
    town,customers*Harbourton,*) ;;
    *) fail "the container's answer is not the README's" ;;
esac
budget=$(hushtable budget)
grep -q 'spent *epsilon = 1,' <<<"$budget" || fail "the budget does not have the charge: $budget"
[ -n "$(find "$folder/data/hushtable.ledger" -user "${owner%%:*}")" ] || fail "the ledger's owner is another"

# Where the ledger cannot be written, no question is answered, and the reason is said.
new='SELECT COUNT(*) FROM visits'
refused 'cannot write the ledger' \
    "$engine" "${run[@]}" --rm --volume "$data:ro" "$image" query "$new"
refused 'cannot open the ledger' \
    "$engine" "${run[@]}" --user 65532:65532 --rm --volume "$data" "$image" query "$new"
refused 'cannot read the contract' "$engine" "${run[@]}" --rm "$image" budget

# Nothing but /data can be written: not on a read-only file system, and by rights nowhere else either.
for place in "" /etc /usr/local/bin /home/nonroot /tmp /var/tmp; do
    refused 'Read-only file system' hushtable generate man --out "$place/man1"
done
for place in "" /etc /usr/local/bin /home/nonroot; do
    refused 'Permission denied' "$engine" "${run[@]}" --rm "$image" generate man --out "$place/man1"
done
"$engine" "${run[@]}" --name "$container" --volume "$data" "$image" query "$new" >/dev/null
# Podman itself makes the place to mount at, and a name for the user.
changed=$("$engine" diff "$container" | grep -vE '^[AC] (/data|/etc|/etc/(passwd|group))$' || true)
[ -z "$changed" ] || fail "a query writes outside of /data: $changed"

# The image's user has no rights, there is no shell to find, and little besides the command.
"$engine" export "$container" >"$folder/files.tar"
"$engine" rm "$container" >/dev/null
files=$(tar -tf "$folder/files.tar")
! grep -E '(^|/)(sh|bash|dash|busybox|apt|perl|python3?)$' <<<"$files" || fail "the image has a shell"
grep -q '^usr/share/doc/hushtable/LICENSE-MIT$' <<<"$files" || fail "the image has no licence"
rest=$(tar -tvf "$folder/files.tar" | awk '!/bin\/hushtable$/ { bytes += $3 } END { print int(bytes / 1e6) }')
[ "$rest" -lt 40 ] || fail "the image has $rest MB besides the command"
user=$("$engine" inspect --format '{{.Config.User}}' "$image")
[ "$user" = 65532:65532 ] || fail "the image's user is '$user'"

# Ctrl-C and `docker stop` end it, here while it waits for a second statement.
mkfifo "$folder/typed"
"$engine" "${run[@]}" --rm --interactive --name "$container" "${locked[@]}" --volume "$data" "$image" shell \
    <"$folder/typed" >"$folder/shown" &
shell=$!
exec 3>"$folder/typed"
echo '\d' >&3
until grep -q visits "$folder/shown"; do
    kill -0 "$shell" 2>/dev/null || fail "the shell does not list the tables"
    sleep 0.1
done
"$engine" kill --signal INT "$container" >/dev/null
for _ in $(seq 600); do kill -0 "$shell" 2>/dev/null || break; sleep 0.1; done
! kill -0 "$shell" 2>/dev/null || fail "Ctrl-C does not end the command"
ended=0
wait "$shell" || ended=$?
exec 3>&-
[ "$ended" = 130 ] || fail "the command ended with $ended after SIGINT"

# The build is sent sources and licences: no data, ledgers or results that somebody keeps in the clone.
printf 'FROM scratch\nCOPY . /sent/\n' | "$engine" build --quiet --tag "$image-context" --file - . >/dev/null
"$engine" create --name "$container" "$image-context" nothing >/dev/null
sent=$("$engine" export "$container" | tar -t | grep '^sent/.' | cut -d / -f 2 | sort -u | tr '\n' ' ')
"$engine" rm "$container" >/dev/null
"$engine" rmi "$image-context" >/dev/null
[ "$sent" = 'Cargo.lock Cargo.toml LICENSE-APACHE LICENSE-MIT crates docs fuzz tools ' ] ||
    fail "the build is sent $sent"

size=$("$engine" image inspect --format '{{.Size}}' "$image")
echo "$((size / 1000000)) MB, of them $rest besides the command"
echo "1 passed, 0 failed"
