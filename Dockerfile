# The hushtable command: small, without a shell's worth of rights, on a read-only file system.
#
#   docker build --tag hushtable .
#   docker run --rm --read-only --network none --user "$(id -u):$(id -g)" \
#       --volume "$PWD:/data" hushtable query "SELECT …"
#
# The folder of the contract is mounted at /data. It must be writable: the ledger is beside the
# contract, and each charge is written to it.

FROM rust:1.95-slim-trixie AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package hushtable-cli

FROM debian:trixie-slim
COPY --from=build /source/target/release/hushtable /usr/local/bin/hushtable
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/hushtable/
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["hushtable"]
