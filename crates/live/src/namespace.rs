//! Network namespaces of our own, which need no privileges: they are made inside a user namespace.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid, write};

/// What the system refused, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was to be done.
    what: String,
    /// The system's reason.
    why: Errno,
}

impl Refused {
    /// The system refused something.
    pub(crate) fn new(what: impl Into<String>, why: Errno) -> Self {
        let what = what.into();
        Self { what, why }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, why } = self;
        write!(f, "{what}: {}", why.desc())
    }
}

impl std::error::Error for Refused {}

/// Moves the process, which must have one thread only, into a user namespace of its own, in which it may make
/// network namespaces. Users and files stay what they are. Where user namespaces are not allowed and the process
/// may make network namespaces anyway, nothing changes.
///
/// # Errors
/// Neither is possible.
// LIV-10
pub fn enter_user_namespace() -> Result<(), Refused> {
    let (user, group) = (geteuid(), getegid());
    match unshare(CloneFlags::CLONE_NEWUSER) {
        Ok(()) => {
            // Without the first a process without privileges may not write the last.
            write_system("/proc/self/setgroups", "deny")?;
            write_system("/proc/self/uid_map", &format!("{user} {user} 1"))?;
            write_system("/proc/self/gid_map", &format!("{group} {group} 1"))
        }
        Err(why) if NetworkNamespace::new().is_err() => Err(match why {
            Errno::EINVAL => Refused::new(
                "a user namespace cannot be made by a process with several threads",
                why,
            ),
            _ => Refused::new(
                "a user namespace cannot be made; the system must allow them \
                 (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)",
                why,
            ),
        }),
        Err(_) => Ok(()),
    }
}

/// Writes into a file by which the system takes settings.
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

/// A network namespace. It lasts as long as this value, a thread inside or a socket of it.
#[derive(Debug)]
pub struct NetworkNamespace(OwnedFd);

impl NetworkNamespace {
    /// A new one, with nothing in it but a loopback interface that is down.
    ///
    /// # Errors
    /// The process may not make one.
    pub fn new() -> Result<Self, Refused> {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|why| Refused::new("a network namespace cannot be made", why))?;
            // The kernel shall send nothing by itself. Where this cannot be set, receivers drop what it sends.
            let _ = write_system("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            Self::current()
        };
        in_a_thread(make)
    }

    /// The one of the calling thread.
    fn current() -> Result<Self, Refused> {
        let path = Path::new("/proc/thread-self/ns/net");
        let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
        let refused = |why| Refused::new("the current network namespace cannot be opened", why);
        file.map(Self).map_err(refused)
    }

    /// Does something in it, in a thread of its own.
    ///
    /// # Errors
    /// It cannot be entered, or what `act` says.
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

/// Threads keep the namespace that they have entered, so that each entry gets one that ends with it.
fn in_a_thread<T: Send>(act: impl FnOnce() -> Result<T, Refused> + Send) -> Result<T, Refused> {
    thread::scope(|scope| match scope.spawn(act).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
