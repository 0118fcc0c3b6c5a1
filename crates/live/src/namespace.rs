//! Creates network namespaces without privileges, inside a user namespace.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid, write};
use thiserror::Error;

/// An operation that the system rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}: {}", why.desc())]
pub struct Refused {
    /// Description of the failed operation, as a clause.
    what: String,
    /// Error number of the system.
    why: Errno,
}

impl Refused {
    /// Creates the error for a failed operation.
    pub(crate) fn new(what: impl Into<String>, why: Errno) -> Self {
        let what = what.into();
        Self { what, why }
    }
}

/// Moves the process into a new user namespace, in which it may create network namespaces. The
/// process must have a single thread. User IDs and files stay the same. If user namespaces are not
/// allowed but the process may create network namespaces anyway, the function changes nothing.
///
/// # Errors
/// The process may create neither user namespaces nor network namespaces.
// LIV-10: user namespace
pub fn enter_user_namespace() -> Result<(), Refused> {
    let (user, group) = (geteuid(), getegid());
    match unshare(CloneFlags::CLONE_NEWUSER) {
        Ok(()) => {
            // Without privileges, a process may write gid_map only after it has denied setgroups.
            write_system("/proc/self/setgroups", "deny")?;
            write_system("/proc/self/uid_map", &format!("{user} {user} 1"))?;
            write_system("/proc/self/gid_map", &format!("{group} {group} 1"))
        }
        Err(why) if NetworkNamespace::new().is_err() => Err(match why {
            Errno::EINVAL => Refused::new(
                "a process with several threads cannot create a user namespace",
                why,
            ),
            _ => Refused::new(
                "a user namespace cannot be created; the system must allow user namespaces \
                 (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)",
                why,
            ),
        }),
        Err(_) => Ok(()),
    }
}

/// Writes a setting of the kernel into a file in /proc.
fn write_system(path: &str, text: &str) -> Result<(), Refused> {
    let refused = |why| Refused::new(format!("{path} cannot be written"), why);
    let file = open(
        Path::new(path),
        OFlag::O_WRONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    );
    write(file.map_err(refused)?, text.as_bytes()).map_err(refused)?;
    Ok(())
}

/// A network namespace. It exists as long as this value, a thread in the namespace, or a socket
/// that was opened there.
#[derive(Debug)]
pub struct NetworkNamespace(OwnedFd);

impl NetworkNamespace {
    /// Creates a namespace that has only a loopback interface, which is down.
    ///
    /// # Errors
    /// The process may not create network namespaces.
    pub fn new() -> Result<Self, Refused> {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|why| Refused::new("a network namespace cannot be created", why))?;
            // Disables IPv6, which stops most frames that the kernel sends by itself. If this
            // fails, receivers drop such frames.
            let _ = write_system("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            Self::current()
        };
        in_a_thread(make)
    }

    /// Returns the namespace of the calling thread.
    fn current() -> Result<Self, Refused> {
        let path = Path::new("/proc/thread-self/ns/net");
        let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
        let refused = |why| Refused::new("the current network namespace cannot be opened", why);
        file.map(Self).map_err(refused)
    }

    /// Runs `act` inside the network namespace, in a new thread.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `act` fails.
    pub fn inside<T: Send>(
        &self,
        act: impl FnOnce() -> Result<T, Refused> + Send,
    ) -> Result<T, Refused> {
        in_a_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)
                .map_err(|why| Refused::new("a network namespace cannot be entered", why))?;
            act()
        })
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Runs `act` in a new thread, because a thread cannot leave a namespace that it has entered.
fn in_a_thread<T: Send>(act: impl FnOnce() -> Result<T, Refused> + Send) -> Result<T, Refused> {
    thread::scope(|scope| match scope.spawn(act).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
