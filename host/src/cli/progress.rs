//! A progress bar for whatever takes longer than a moment.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends sooner shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bar on standard error that appears after two seconds, if that is a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Dropped to end the thread that waits to show the bar.
    stop: Option<Sender<()>>,
    showing: Option<JoinHandle<()>>,
}

impl Progress {
    /// A bar of `steps` steps.
    pub(super) fn new(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {pos}/{len} {msg}");
        // The template is a constant; were it wrong, the plain bar would do.
        bar.set_style(
            style
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("=> "),
        );
        let (stop, wait) = mpsc::channel();
        let showing = std::io::stderr().is_terminal().then(|| {
            let bar = bar.clone();
            std::thread::spawn(move || {
                if wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(250));
                }
            })
        });
        Self {
            bar,
            stop: Some(stop),
            showing,
        }
    }

    /// Says what is being done.
    pub(super) fn doing(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// One step is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Runs `print`, which writes to the terminal, without the bar in its way.
    pub(super) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(showing) = self.showing.take() {
            // The thread does nothing that panics.
            let _ = showing.join();
        }
        self.bar.finish_and_clear();
    }
}
