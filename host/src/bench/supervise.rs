//! The watchdog: measuring goes on in a child process, which is ended when it says nothing for too long.
//!
//! Nothing else ends a kernel that hangs: the driver waits for it for ever.
//! The child tells what it is about to do before it does it, so the parent knows which configuration is to blame and starts another child without it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::session::Event;

/// How long the parent waits for a child that was ended: a driver may take its time to give the device back.
const LAST_WAIT: Duration = Duration::from_secs(20);

/// What a child reads first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Configurations that are done, or beyond hope.
    pub leave_out: BTreeSet<usize>,
    /// Configurations of a batch that hung, one of which is to blame.
    pub alone: BTreeSet<usize>,
}

/// Why there are no more results.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum WatchError {
    #[error("this program cannot be started a second time: {reason}")]
    Start { reason: String },
    #[error(
        "the device did not answer for {seconds} s at: {what}; pass a longer --timeout or end what else runs on it"
    )]
    Silent { seconds: u64, what: String },
    #[error("the measuring process ended with {status} at: {what}")]
    Ended { status: String, what: String },
    #[error("the measuring process wrote what is no event: {line}")]
    Line { line: String },
}

/// What whoever watches is told besides the child's own events.
#[derive(Clone, Debug, PartialEq)]
pub enum Watched {
    /// An event of the child.
    Event(Event),
    /// A configuration that hung or ended the child, and why.
    Lost {
        /// Which.
        item: usize,
        /// Why.
        reason: String,
    },
}

/// Runs children until one comes to its end, and hands on what they say.
///
/// `command` makes one; it is given orders on its standard input and writes events to its standard output.
pub fn supervise<E: From<WatchError>>(
    mut command: impl FnMut() -> Command,
    mut orders: Orders,
    timeout: Duration,
    mut tell: impl FnMut(Watched) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        let mut child = Started::new(&mut command(), &orders)?;
        let (mut what, mut items) = ("start".to_owned(), Vec::new());
        let end = loop {
            match child.lines.recv_timeout(timeout) {
                Ok(line) => {
                    let Ok(event) = serde_json::from_str::<Event>(&line) else {
                        return Err(WatchError::Line { line }.into());
                    };
                    match &event {
                        Event::Doing {
                            what: now,
                            items: at_work,
                        } => {
                            what.clone_from(now);
                            items.clone_from(at_work);
                        }
                        Event::Measured { item, .. } | Event::Unfit { item, .. } => {
                            orders.leave_out.insert(*item);
                            items.retain(|at_work| at_work != item);
                        }
                        Event::Device { .. } => {}
                    }
                    tell(Watched::Event(event))?;
                }
                Err(RecvTimeoutError::Timeout) => {
                    child.end();
                    break None;
                }
                Err(RecvTimeoutError::Disconnected) => break Some(child.status()),
            }
        };
        let status = match end {
            Some(Some(status)) if status.success() => return Ok(()),
            Some(Some(status)) => Some(status.to_string()),
            Some(None) => Some("no status".to_owned()),
            None => None,
        };
        match items.as_slice() {
            // A batch whose members were not told apart yet.
            [_, _, ..] => orders.alone.extend(items),
            [item] => {
                orders.leave_out.insert(*item);
                let reason = match status {
                    Some(status) => format!("the process ended with {status}"),
                    None => format!("hung: no end after {} s", timeout.as_secs_f64()),
                };
                tell(Watched::Lost {
                    item: *item,
                    reason,
                })?;
            }
            [] => {
                return Err(match status {
                    Some(status) => WatchError::Ended { status, what },
                    None => WatchError::Silent {
                        seconds: timeout.as_secs(),
                        what,
                    },
                }
                .into());
            }
        }
    }
}

/// A child and the lines that it writes.
struct Started {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Started {
    fn new(command: &mut Command, orders: &Orders) -> Result<Self, WatchError> {
        let start = |reason: String| WatchError::Start { reason };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| start(error.to_string()))?;
        let orders = serde_json::to_string(orders).map_err(|error| start(error.to_string()))?;
        if let Some(mut input) = child.stdin.take() {
            // A child that ended before it read tells so by its status.
            let _ = writeln!(input, "{orders}");
        }
        let (send, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                // Nobody listens any more when the watch is over.
                lines
                    .take_while(|line| send.send(line.clone()).is_ok())
                    .for_each(drop);
            });
        }
        Ok(Self { child, lines })
    }

    /// Ends the child and waits for the device to be given back.
    fn end(&mut self) {
        // It may have ended by itself in the meantime.
        let _ = self.child.kill();
        let begun = Instant::now();
        while begun.elapsed() < LAST_WAIT {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child.wait().ok()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children are shell scripts, one after the other; what each was ordered is checked by its own first line.
    fn watch(scripts: &[&str], timeout: f64) -> (Vec<String>, Result<(), WatchError>) {
        let mut told = Vec::new();
        let mut next = scripts.iter();
        let command = || {
            let mut command = Command::new("sh");
            command
                .arg("-c")
                .arg(next.next().expect("a child too many"));
            command
        };
        let timeout = Duration::from_secs_f64(timeout);
        let result = supervise(command, Orders::default(), timeout, |watched| {
            told.push(match watched {
                Watched::Event(Event::Doing { what, .. }) => what,
                Watched::Event(Event::Unfit { item, .. }) => format!("unfit {item}"),
                Watched::Event(_) => "other".to_owned(),
                Watched::Lost { item, reason } => format!("lost {item}: {reason}"),
            });
            Ok::<(), WatchError>(())
        });
        assert!(next.next().is_none(), "a child was not started");
        (told, result)
    }

    /// A line that says what is being done.
    macro_rules! doing {
        ($what:literal, $items:literal) => {
            concat!(
                "echo '{\"event\":\"doing\",\"what\":\"",
                $what,
                "\",\"items\":[",
                $items,
                "]}';"
            )
        };
    }
    const DONE: &str = "echo '{\"event\":\"unfit\",\"item\":7,\"reason\":\"\"}';";

    #[test]
    fn one_that_hangs_is_ended_and_left_out() {
        let hang = concat!(doing!("seven", "7"), "exec sleep 600");
        let rest = "read orders; case $orders in *'\"leave_out\":[7]'*) ;; *) exit 9;; esac";
        let (told, result) = watch(&[hang, rest], 0.3);
        assert_eq!(told, ["seven", "lost 7: hung: no end after 0.3 s"]);
        result.unwrap();
    }

    #[test]
    fn a_batch_that_hangs_is_taken_apart() {
        let hang = concat!(doing!("both", "3,4"), "exec sleep 600");
        let rest = "read orders; case $orders in *'\"alone\":[3,4]'*) ;; *) exit 9;; esac";
        let (told, result) = watch(&[hang, rest], 0.3);
        assert_eq!(told, ["both"]);
        result.unwrap();
    }

    #[test]
    fn one_that_ends_the_process_is_left_out_and_what_is_done_is_not_repeated() {
        let crash = format!("{DONE} {} exit 4", doing!("eight", "8"));
        let rest = "read orders; case $orders in *'\"leave_out\":[7,8]'*) ;; *) exit 9;; esac";
        let (told, result) = watch(&[&crash, rest], 60.0);
        assert_eq!(
            told,
            [
                "unfit 7",
                "eight",
                "lost 8: the process ended with exit status: 4"
            ]
        );
        result.unwrap();
    }

    #[test]
    fn nothing_to_blame_is_an_error() {
        for (script, timeout, expected) in [
            (
                "exit 5",
                60.0,
                "the measuring process ended with exit status: 5 at: start",
            ),
            (
                concat!(doing!("inputs", ""), "exec sleep 600"),
                1.0,
                "the device did not answer for 1 s at: inputs; pass a longer --timeout or end what else runs on it",
            ),
            (
                "echo hello; exec sleep 600",
                60.0,
                "the measuring process wrote what is no event: hello",
            ),
        ] {
            let (_, result) = watch(&[script], timeout);
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
    }
}
