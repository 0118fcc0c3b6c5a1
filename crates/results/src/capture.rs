//! Writes captured frames into one pcapng file or into a ring of several files (rules RCD-31 to
//! RCD-33 of `specs/record.md`).
//!
//! The format is draft-ietf-opsawg-pcapng: a section header block, an interface description block
//! for each direction of a link, and an enhanced packet block for each frame. Each file of a ring
//! is a complete capture.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fabric::LinkId;
use fabric::measure::{CaptureSpec, CapturedFrame};
use fabric::record::{Rows, Table};

use crate::{Error, directory};

/// The unit of time stamps is 10⁻¹⁰ s. With a smaller decimal unit the arithmetic of Wireshark
/// overflows.
const TICK_EXPONENT: u8 = 10;
/// The unit of time stamps, in ps.
const TICK_PS: u64 = 100;

/// One direction of a captured link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedLink {
    /// ID of this direction of the link.
    pub link: LinkId,
    /// Name of the sending port, such as `leaf0->spine1`.
    pub name: String,
    /// Line rate, in bit/s.
    pub rate_bps: u64,
}

/// Block types of pcapng.
mod block {
    pub const SECTION: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const PACKET: u32 = 6;
}

/// The files of a capture, under their temporary names.
pub(crate) struct CaptureFiles {
    dir: PathBuf,
    table: Table,
    spec: CaptureSpec,
    /// Interface ID of each link in the capture, equal in all files.
    interfaces: HashMap<LinkId, u32>,
    /// The pcapng blocks before the first frame, equal in all files.
    head: Vec<u8>,
    out: BufWriter<File>,
    path: PathBuf,
    /// Size of the current file, in bytes.
    written: u64,
    /// Number of files that were started, including those that were overwritten.
    begun: u64,
    /// Number of frames that were omitted because the only file was full.
    left_out: u64,
}

impl CaptureFiles {
    pub(crate) fn create(
        dir: &Path,
        table: Table,
        spec: &CaptureSpec,
        links: &[CapturedLink],
    ) -> Result<Self, Error> {
        let head = head(spec, links);
        let (out, path) = begin(dir, &table, spec, 0, &head)?;
        Ok(Self {
            dir: dir.to_owned(),
            table,
            interfaces: (0..)
                .zip(links)
                .map(|(number, link)| (link.link, number))
                .collect(),
            written: head.len() as u64,
            head,
            spec: spec.clone(),
            out,
            path,
            begun: 1,
            left_out: 0,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.table.name
    }

    // RCD-32: at the limit, capture ends or the next file of the ring starts
    pub(crate) fn add(&mut self, rows: &dyn Rows) -> Result<(), Error> {
        for frame in rows.of::<CapturedFrame>().unwrap_or_default() {
            let block = packet(self.interfaces[&frame.link], frame);
            // After the first omitted frame, later frames are omitted too, even if they are shorter
            // and would fit.
            let full = self.written + block.len() as u64 > self.spec.limit_bytes;
            if full || self.left_out > 0 {
                if self.spec.files == 1 {
                    self.left_out += 1;
                    continue;
                }
                self.sync()?;
                (self.out, self.path) =
                    begin(&self.dir, &self.table, &self.spec, self.begun, &self.head)?;
                self.begun += 1;
                self.written = self.head.len() as u64;
            }
            self.written += block.len() as u64;
            let done = self.out.write_all(&block);
            done.map_err(|e| Error::io(&self.path, "write", &e))?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        let done = self
            .out
            .flush()
            .and_then(|()| self.out.get_ref().sync_data());
        done.map_err(|e| Error::io(&self.path, "write", &e))
    }

    /// Completes the files and returns their final names. The files of a ring are numbered by age,
    /// oldest first.
    pub(crate) fn close(mut self) -> Result<Vec<String>, Error> {
        self.sync()?;
        let files = u64::from(self.spec.files);
        if files == 1 {
            return Ok(vec![self.table.file()]);
        }
        let kept = self.begun.min(files);
        let first = self.begun - kept;
        let final_name = |nth: u64| self.table.numbered_file(nth as u16 + 1);
        // A file may still have the final name that another file will get. So all files get
        // intermediate names first.
        let aside = |nth: u64| directory::temporary(&self.dir, &format!("{}~", final_name(nth)));
        let rename = |from: PathBuf, to: PathBuf| {
            std::fs::rename(&from, &to).map_err(|e| Error::io(&to, "rename", &e))
        };
        for nth in 0..kept {
            let slot = slot_name(&self.table, &self.spec, first + nth);
            rename(directory::temporary(&self.dir, &slot), aside(nth))?;
        }
        for nth in 0..kept {
            rename(
                aside(nth),
                directory::temporary(&self.dir, &final_name(nth)),
            )?;
        }
        Ok((0..kept).map(final_name).collect())
    }

    /// Returns a warning if frames were omitted.
    pub(crate) fn warning(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{}: full after {} bytes, {} frames are missing; raise record.capture.limit, name \
                 fewer links, or set record.capture.files for a ring that keeps the last frames",
                self.table.file(),
                self.written,
                self.left_out
            )
        })
    }
}

/// Returns the name of the `nth` started file until the capture is complete.
fn slot_name(table: &Table, spec: &CaptureSpec, nth: u64) -> String {
    match spec.files {
        1 => table.file(),
        files => table.numbered_file((nth % u64::from(files)) as u16 + 1),
    }
}

fn begin(
    dir: &Path,
    table: &Table,
    spec: &CaptureSpec,
    nth: u64,
    head: &[u8],
) -> Result<(BufWriter<File>, PathBuf), Error> {
    let path = directory::temporary(dir, &slot_name(table, spec, nth));
    let file = File::create(&path).map_err(|e| Error::io(&path, "create", &e))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let done = out.write_all(head);
    done.map_err(|e| Error::io(&path, "write", &e))?;
    Ok((out, path))
}

/// Appends a pcapng block: type, length, body padded to a multiple of 4 bytes, and the length
/// again.
fn put_block(kind: u32, body: &[u8], out: &mut Vec<u8>) {
    let padded = body.len().next_multiple_of(4);
    let length = (padded + 12) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(body);
    out.resize(out.len() + padded - body.len(), 0);
    out.extend(length.to_le_bytes());
}

fn put_option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

// RCD-31: each direction of a link is a pcapng interface
fn head(spec: &CaptureSpec, links: &[CapturedLink]) -> Vec<u8> {
    const ETHERNET: u32 = 1;
    let mut out = Vec::new();
    let mut section = Vec::new();
    section.extend(0x1a2b_3c4d_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]); // Version 1.0.
    section.extend(u64::MAX.to_le_bytes()); // The length of the section is unspecified.
    put_option(
        4,
        concat!("backwater ", env!("CARGO_PKG_VERSION")).as_bytes(),
        &mut section,
    );
    put_option(0, &[], &mut section);
    put_block(block::SECTION, &section, &mut out);
    for link in links {
        let mut interface = Vec::new();
        interface.extend(ETHERNET.to_le_bytes());
        interface.extend(spec.snaplen.to_le_bytes());
        put_option(2, link.name.as_bytes(), &mut interface);
        put_option(8, &link.rate_bps.to_le_bytes(), &mut interface);
        put_option(9, &[TICK_EXPONENT], &mut interface);
        put_option(0, &[], &mut interface);
        put_block(block::INTERFACE, &interface, &mut out);
    }
    out
}

fn packet(interface: u32, frame: &CapturedFrame) -> Vec<u8> {
    let ticks = frame.at_ps / TICK_PS;
    let mut body = Vec::with_capacity(frame.kept.len() + 20);
    let kept = frame.kept.len() as u32;
    for word in [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        kept,
        frame.bytes,
    ] {
        body.extend(word.to_le_bytes());
    }
    body.extend(&frame.kept);
    let mut out = Vec::with_capacity(body.len() + 16);
    put_block(block::PACKET, &body, &mut out);
    out
}
