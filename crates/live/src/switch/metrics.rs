//! An HTTP server with counters for Prometheus and a status page. It answers GET requests for three
//! paths.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::snapshot::Snapshot;
use crate::Error;

const PAGE: &str = include_str!("page.html");
/// Maximum time for a client to send its request or to receive the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum length of a request line in bytes.
const MOST_BYTES: u64 = 8192;

/// An HTTP server that publishes the latest snapshot of a switch.
#[derive(Debug)]
pub struct Metrics {
    address: SocketAddr,
    shown: Arc<Mutex<Snapshot>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Starts a server that listens at an address.
    ///
    /// # Errors
    /// The system rejects the address.
    // WSW-43: metrics
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
                // A client that disconnects early is not an error of the server.
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

    /// Address at which the server listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the published snapshot.
    pub fn show(&self, snapshot: Snapshot) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The server thread waits for a client. This connection ends the wait.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut client: TcpStream, shown: &Mutex<Snapshot>) -> std::io::Result<()> {
    client.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    client.set_write_timeout(Some(CLIENT_TIMEOUT))?;
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
            "expected /, /metrics or /state.json\n".to_owned(),
        ),
        _ => (
            "405 Method Not Allowed",
            "text/plain",
            "expected GET\n".to_owned(),
        ),
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n{body}"
    )
}
