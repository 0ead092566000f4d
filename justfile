# The commands that people need. `just` alone lists them.
# Everything selects the whole workspace: one crate alone is built with other features of DataFusion,
# and DataFusion is then built again.

_default:
    @just --list --unsorted

# Ask the shipped example a first question
example:
    cargo run --bin hushtable -- query --contract examples/shop/hushtable.toml \
        "SELECT town, COUNT(DISTINCT customer_id) AS customers FROM visits GROUP BY town"

# Format, and find faults without running anything
check:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Run the tests whose names contain a word, or all of them
test *filter:
    cargo test --workspace --locked -- {{ filter }}

# Run the tests of one crate that is built without DataFusion: noise, privacy, plan, …
quick crate *filter:
    cargo test --package hushtable-{{ crate }} --locked --target-dir target/quick -- {{ filter }}

# Accept what snapshot tests found, to be read in the diff
snapshots *filter:
    INSTA_UPDATE=always cargo test --workspace --locked -- {{ filter }}

# Feed hostile input to every reader of text and files
fuzz seconds="60":
    cargo build --workspace --all-targets --locked
    target/debug/fuzz --seconds {{ seconds }}

# Build the book, with its page of commands (cargo install mdbook --locked)
book:
    cargo run --quiet --bin hushtable -- generate reference >docs/commands.md
    mdbook build

# Compare a benchmark with the same work without privacy: private_query, group_selection, …
bench name:
    cargo bench --package hushtable-engine --bench {{ name }}

# Check the licences and sources of all dependencies (cargo install cargo-deny --locked)
deny:
    cargo deny --offline check licenses bans sources

# Build the wheel and try it in a fresh virtual environment (pip install maturin)
wheel:
    tests/wheel.sh

# Run the tests of the package for Python, in a fresh environment
python:
    tests/python.sh

# Build and check the package for R
r:
    cargo build --quiet --locked -p hushtable-cli
    tests/r.sh "${CARGO_TARGET_DIR:-target}/debug/hushtable"

# Run everything that must hold before a change lands
ci:
    .ci/run
