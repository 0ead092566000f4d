# The hushtable command on a base without a shell, for a user without rights and a read-only file system.
#
#   docker build --tag hushtable .
#   docker run --rm --init --read-only --network none --user "$(id -u):$(id -g)" \
#       --volume "$PWD:/data" hushtable query "SELECT …"
#
# The folder of the contract is mounted at /data. It must be writable: the ledger is beside the
# contract, and each charge is written to it. Without --init, the command is the container's first
# process, which the kernel protects from Ctrl-C. `tests/container.sh` tries all of this.

# Bases are named by digest, so that the same sources build on the same files; the tags are for readers. A digest is
# that of the image for all platforms. `docker buildx imagetools inspect rust:1.95-slim-trixie` says what a tag is now.
FROM rust:1.95-slim-trixie@sha256:985053ebf77f576c742435c12c1923ee04dbe511e17f087dd1a8f022307d3aeb AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package hushtable-cli

# Debian's C library and little else. It is of the build's own release, so that the command runs with it.
FROM gcr.io/distroless/cc-debian13:nonroot@sha256:e792ab3d241a468a4fd7519ddbbebe66b49b5f365771716ea688ad40b6c6f1c2
LABEL org.opencontainers.image.title="hushtable" \
      org.opencontainers.image.description="Answers SQL about people, firms and farms with differential privacy." \
      org.opencontainers.image.source="https://github.com/hushtable/hushtable" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/hushtable/
COPY --from=build /source/target/release/hushtable /usr/local/bin/hushtable
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["hushtable"]
