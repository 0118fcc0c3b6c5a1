//! Computes a hash of the sources of the extension module.
//!
//! Cached results are stored under a key that must change when the simulation changes, which
//! happens more often than releases. The hash covers the sources, because they are equal on all
//! machines. The bytes of the built library are not.

use std::io;
use std::path::{Path, PathBuf};

/// Folders whose files have no effect on results.
const LEFT_OUT: [&str; 4] = ["tests", "benches", "examples", "target"];

fn main() -> io::Result<()> {
    let crates = Path::new("..");
    let mut sources = Vec::new();
    gather(crates, &mut sources)?;
    sources.sort();
    let mut hash = Fnv::default();
    for path in sources {
        let name = path.to_string_lossy().replace('\\', "/");
        let content = std::fs::read(&path)?;
        hash.add(name.as_bytes());
        hash.add(&content.len().to_le_bytes());
        hash.add(&content);
    }
    println!("cargo::rerun-if-changed={}", crates.display());
    println!("cargo::rustc-env=BACKWATER_SOURCES={:032x}", hash.0);
    Ok(())
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                gather(&entry.path(), found)?;
            }
        } else if !name.to_string_lossy().starts_with('.') {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Hash FNV-1a with 128 bits.
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
}
