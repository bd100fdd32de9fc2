//! What this machine has for each part of nstage, what that part needs, and the one command that mends it.
//!
//! [`Facts`] are gathered from the machine; [`examine`] judges them and looks at nothing else, so that every verdict is tested without the machine that would earn it.

mod facts;

pub use facts::{Facts, Gpu, Tool};

use serde::Serialize;

use crate::ptx::version::Version;

/// The oldest compute capability with `cp.async`.
const OLDEST_CAPABILITY: u32 = 80;

/// How a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As needed.
    Ok,
    /// Not there; what does without it still works.
    Missing,
    /// There, or said to be, and of no use.
    Broken,
}

impl State {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Broken => "BROKEN",
        }
    }
}

/// One part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub part: &'static str,
    /// How it stands.
    pub state: State,
    /// What is there.
    pub found: String,
    /// What is needed, and by what.
    pub needed: String,
    /// What mends it; `None` where nothing has to be.
    pub remedy: Option<String>,
}

impl Check {
    fn new(part: &'static str, needed: impl Into<String>) -> Self {
        Self {
            part,
            state: State::Ok,
            found: String::new(),
            needed: needed.into(),
            remedy: None,
        }
    }

    fn ok(mut self, found: impl Into<String>) -> Self {
        self.found = found.into();
        self
    }

    fn bad(mut self, state: State, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        self.state = state;
        self.found = found.into();
        self.remedy = Some(remedy.into());
        self
    }
}

/// Judges every part, in the order in which a newcomer needs them.
pub fn examine(facts: &Facts) -> Vec<Check> {
    let mut all = vec![kernels(facts), compiler(facts), driver(facts)];
    if let Ok(gpus) = &facts.gpus {
        all.extend(gpus.iter().flat_map(|gpu| gpu_checks(gpu, facts)));
    }
    all.extend(facts.tools.iter().map(tool));
    all
}

fn kernels(facts: &Facts) -> Check {
    let check = Check::new("kernels", "PTX in this program, by run, selftest and bench");
    match &facts.built {
        Ok(built) => {
            let each = built.iter().map(|b| {
                format!(
                    "{} entries for {} (PTX {}.{})",
                    b.entries, b.target, b.version.0, b.version.1
                )
            });
            check.ok(each.collect::<Vec<_>>().join(", "))
        }
        Err(reason) => check.bad(
            State::Broken,
            reason.clone(),
            "mend the device compiler below, then `cargo xtask run`",
        ),
    }
}

fn compiler(facts: &Facts) -> Check {
    let check = Check::new(
        "device compiler",
        "rustc 1.95 or newer with its library source, to build kernels",
    );
    match &facts.compiler {
        Ok(found) => check.ok(found.clone()),
        Err((looked, remedy)) => check.bad(State::Missing, looked.clone(), remedy.clone()),
    }
}

fn driver(facts: &Facts) -> Check {
    let check = Check::new("CUDA driver", "a driver and a GPU, by --device cuda");
    match &facts.gpus {
        Ok(gpus) if gpus.is_empty() => check.bad(
            State::Broken,
            "the driver finds no GPU",
            "see what `nvidia-smi` says; in a container, start it with `--gpus all`",
        ),
        Ok(gpus) => check.ok(format!(
            "CUDA {}, {}",
            facts
                .driver_release
                .map_or_else(|| "?".to_owned(), |(a, b)| format!("{a}.{b}")),
            if gpus.len() == 1 {
                "1 GPU".to_owned()
            } else {
                format!("{} GPUs", gpus.len())
            }
        )),
        Err((reason, state)) => check.bad(
            *state,
            reason.clone(),
            "install NVIDIA's driver (Debian: `sudo apt-get install nvidia-driver`); without one, --device sim runs everything but bench and sweep",
        ),
    }
}

fn gpu_checks(gpu: &Gpu, facts: &Facts) -> Vec<Check> {
    let known = |number: u32| format!("{}.{}", number / 10, number % 10);
    let named = format!("{} ({})", gpu.name, gpu.id);
    let check = Check::new(
        "GPU",
        format!(
            "compute capability {} or higher, for cp.async",
            known(OLDEST_CAPABILITY)
        ),
    );
    let found = format!("{named}, compute capability {}", known(gpu.capability));
    let capable = gpu.capability >= OLDEST_CAPABILITY;
    let first = if capable {
        check.ok(found)
    } else {
        check.bad(
            State::Broken,
            found,
            "take a GPU of the Ampere generation or later, or --device sim",
        )
    };
    vec![first, ptx(gpu, facts)]
}

/// What the driver compiles, tried on the driver and not looked up.
fn ptx(gpu: &Gpu, facts: &Facts) -> Check {
    let lowest: Option<Version> = facts
        .built
        .as_ref()
        .ok()
        .and_then(|built| built.iter().map(|b| b.version).min());
    let needed = lowest.unwrap_or((7, 1));
    let check = Check::new(
        "PTX version",
        format!("{}.{} or higher, by the kernels", needed.0, needed.1),
    );
    match &gpu.accepts {
        Ok(version) if *version >= needed => check.ok(format!(
            "{} takes PTX up to {}.{}",
            gpu.id, version.0, version.1
        )),
        Ok(version) => check.bad(
            State::Broken,
            format!("{} takes PTX up to {}.{}", gpu.id, version.0, version.1),
            "install a newer driver: PTX 7.1 came with CUDA 11.1 (R455)",
        ),
        Err(reason) => check.bad(
            State::Broken,
            format!("{}: {reason}", gpu.id),
            format!(
                "see whether another program holds it: `nvidia-smi -i {}`",
                gpu.index
            ),
        ),
    }
}

fn tool(tool: &Tool) -> Check {
    let check = Check::new(tool.name, tool.what_for);
    match &tool.found {
        Some(Ok((path, release))) => check.ok(format!("{release} ({path})")),
        Some(Err(reason)) => check.bad(State::Broken, reason.clone(), tool.remedy),
        None => check.bad(
            State::Missing,
            format!(
                "not in {}, on the path or in /usr/local/cuda/bin",
                crate::tools::FOLDER_VARIABLE
            ),
            tool.remedy,
        ),
    }
}

#[cfg(test)]
mod tests;
