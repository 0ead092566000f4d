//! A ZIP archive of a few texts, which is what an Excel file is.

use std::io::{self, Write};

use flate2::Compression;
use flate2::Crc;
use flate2::write::DeflateEncoder;

/// 1 January 2000, at midnight, in the archive's form: the same files have the same bytes.
const DATE: u16 = (20 << 9) | (1 << 5) | 1;
/// The version of the format that readers need: 2.0, for compressed files.
const VERSION: u16 = 20;
/// Names are in UTF-8.
const FLAGS: u16 = 1 << 11;
/// DEFLATE.
const METHOD: u16 = 8;

/// An archive of files, each with its name and text.
pub(super) fn archive(files: &[(String, String)]) -> io::Result<Vec<u8>> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes())?;
        let packed = encoder.finish()?;
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        let mut header = Vec::new();
        for number in [VERSION, FLAGS, METHOD, 0, DATE] {
            header.extend(number.to_le_bytes());
        }
        for number in [crc.sum(), size(packed.len())?, size(text.len())?] {
            header.extend(number.to_le_bytes());
        }
        header.extend(short(name.len())?.to_le_bytes());
        // No further fields.
        header.extend(0u16.to_le_bytes());

        directory.extend(*b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&header);
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(size(out.len())?.to_le_bytes());
        directory.extend(name.as_bytes());

        out.extend(*b"PK\x03\x04");
        out.extend(header);
        out.extend(name.as_bytes());
        out.extend(packed);
    }
    let at = size(out.len())?;
    let (count, length) = (short(files.len())?, size(directory.len())?);
    out.extend(directory);
    out.extend(*b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}

fn size(bytes: usize) -> io::Result<u32> {
    u32::try_from(bytes).map_err(io::Error::other)
}

fn short(number: usize) -> io::Result<u16> {
    u16::try_from(number).map_err(io::Error::other)
}
