//! The connection of a controller to its database, which a test can cut: bytes stop without an error, as when a network
//! drops packets.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use super::waiting::pause;

/// The interval in which a cut connection is checked.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Carries connections to a socket.
pub(crate) struct CuttableConnection {
    /// The folder of the near socket.
    pub(crate) folder: PathBuf,
    cut: Arc<AtomicBool>,
    /// The far socket.
    far: Arc<Mutex<PathBuf>>,
}

impl CuttableConnection {
    /// A connection from a socket in a new folder to the socket of a server.
    pub(crate) fn new(folder: PathBuf, server: &Path) -> Self {
        fs::create_dir_all(&folder).expect("there is room for a folder");
        let own = folder.join(server.file_name().expect("a socket has a name"));
        let listener = UnixListener::bind(own).expect("it is new");
        let cut = Arc::new(AtomicBool::new(false));
        let far = Arc::new(Mutex::new(server.to_owned()));
        let (is_cut, leads_to) = (Arc::clone(&cut), Arc::clone(&far));
        // The thread ends with the process of the test.
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let server = leads_to.lock().expect("no thread panicked").clone();
                carry(near, &server, &is_cut);
            }
        });
        Self { folder, cut, far }
    }

    /// Later connections reach another server.
    pub(crate) fn lead_to(&self, server: &Path) {
        server.clone_into(&mut self.far.lock().expect("no thread panicked"));
    }

    /// Stops all bytes, in both directions.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    /// Lets all bytes pass, delayed ones too.
    pub(crate) fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }
}

fn carry(near: UnixStream, server: &Path, is_cut: &Arc<AtomicBool>) {
    // Without a server the connection ends.
    let Ok(far) = UnixStream::connect(server) else { return };
    let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { return };
    for (from, to) in [(near, far), (far_too, near_too)] {
        let is_cut = Arc::clone(is_cut);
        thread::spawn(move || pump(from, to, &is_cut));
    }
}

fn pump(mut from: UnixStream, mut to: UnixStream, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while is_cut.load(Ordering::SeqCst) {
            pause(LOOK_EVERY);
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    while is_cut.load(Ordering::SeqCst) {
        pause(LOOK_EVERY);
    }
    drop(to.shutdown(std::net::Shutdown::Both));
    drop(from.shutdown(std::net::Shutdown::Both));
}
