//! Bytes behind a hash of themselves and of the version that wrote them: another version may mean
//! something else by the same bytes. It finds damage, and proves nothing about who wrote them.

/// Name and version of this program, as statements have them.
pub(crate) const ENGINE: &str = concat!("hushtable ", env!("CARGO_PKG_VERSION"));

/// The length of a hash.
const HASH: usize = 32;

/// The bytes of a body, behind the name of its kind and its hash.
pub(crate) fn sealed(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend(hash(body));
    bytes.extend(body);
    bytes
}

/// The body in such bytes; `None` for all others.
pub(crate) fn opened<'a>(magic: &[u8; 8], bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (stored, body) = bytes.strip_prefix(magic)?.split_first_chunk::<HASH>()?;
    (*stored == hash(body)).then_some(body)
}

fn hash(body: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(ENGINE.as_bytes());
    hasher.update(body);
    *hasher.finalize().as_bytes()
}
