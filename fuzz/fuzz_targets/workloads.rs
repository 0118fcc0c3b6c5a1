//! Fuzz target: opens workload files (Parquet), and reads all operations of valid files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::workload_file::WorkloadFile;
use traffic::operations::Source;

/// Reads all operations of the first 64 ranks.
fn read(file: &WorkloadFile) {
    for rank in 0..file.header.workload.ranks.min(64) {
        let mut from = 0;
        while from < file.count(rank) {
            let block = file.read(rank, from).expect("the file was checked");
            assert!(!block.operations.is_empty(), "rank {rank}, from {from}");
            from += block.operations.len() as u32;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    // The panic hook of libFuzzer would end the program before the reader converts a panic of the
    // `parquet` crate to an error.
    drop(std::panic::take_hook());
    let name = format!("backwater-fuzz-{}.parquet", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, data).expect("the temporary folder can be written");
    let opened = WorkloadFile::open(&path);
    if let Ok(file) = &opened {
        read(file);
    }
    std::fs::remove_file(&path).expect("the file was written");
});
