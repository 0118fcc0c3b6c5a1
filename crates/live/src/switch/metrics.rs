//! Counters for Prometheus and a page for people, over HTTP. It answers GET of three paths and nothing else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::snapshot::Snapshot;
use crate::Error;

const PAGE: &str = include_str!("page.html");
/// A client may take this long to say what it wants, and this many bytes.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_BYTES: u64 = 8192;

/// A server for what a switch shows.
#[derive(Debug)]
pub struct Metrics {
    address: SocketAddr,
    shown: Arc<Mutex<Snapshot>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Listens at an address.
    ///
    /// # Errors
    /// The system refuses it.
    // WSW-43
    pub fn open(address: SocketAddr) -> Result<Self, Error> {
        let refused = |why| Error::Metrics { address, why };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let shown = Arc::new(Mutex::new(Snapshot::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, stopped) = (Arc::clone(&shown), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for client in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                // A client that goes away while it is answered is nobody's trouble.
                let _ = client.and_then(|client| answer(client, &of_thread));
            }
        });
        Ok(Self {
            address,
            shown,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows this from now on.
    pub fn show(&self, snapshot: Snapshot) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread waits for a client: this is one.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut client: TcpStream, shown: &Mutex<Snapshot>) -> std::io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&client).take(MOST_BYTES)).read_line(&mut line)?;
    let snapshot = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (status, kind, body) = match line.split(' ').collect::<Vec<_>>()[..] {
        ["GET", "/metrics", _] => ("200 OK", "text/plain; version=0.0.4", snapshot.prometheus()),
        ["GET", "/state.json", _] => {
            let body = serde_json::to_string(&snapshot).unwrap_or_default();
            ("200 OK", "application/json", body)
        }
        ["GET", "/", _] => ("200 OK", "text/html; charset=utf-8", PAGE.to_owned()),
        ["GET", _, _] => (
            "404 Not Found",
            "text/plain",
            "/, /metrics, /state.json\n".to_owned(),
        ),
        _ => (
            "405 Method Not Allowed",
            "text/plain",
            "only GET\n".to_owned(),
        ),
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n{body}"
    )
}
