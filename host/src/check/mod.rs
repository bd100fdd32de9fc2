//! Checking a PTX text on the CPU, as `nstage check` does: its launch read, its arguments placed, the run judged and told.
//!
//! The command line is one user of it, the case collection the other; so what cases show is what users see.

pub(crate) mod annotate;
pub(crate) mod flags;
mod header;
mod limits;
mod number;
pub(crate) mod place;
pub(crate) mod report;
pub(crate) mod spec;

use nstage_sim::check::Policy;
use nstage_sim::{Dim3, Finding, GlobalMemory, Landing, Launch, Outcome, Program};

pub use self::annotate::annotated;
use self::flags::Flags;
use self::limits::Bytes;
use self::place::Placed;
pub use self::report::{findings, summary};

/// A text with its launch, both read and fitting together as far as can be said before arguments are placed.
#[derive(Debug)]
pub struct Check {
    program: Program,
    entry: String,
    flags: Flags,
    policy: Policy,
    launch: Launch,
    /// What the text alone shows.
    advice: Vec<Finding>,
}

/// One run of a check.
#[derive(Debug)]
pub struct Run {
    /// What came of it.
    pub outcome: Outcome,
    pub(crate) memory: GlobalMemory,
    pub(crate) placed: Placed,
}

/// A launch whose arguments lie in memory.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) launch: Launch,
    pub(crate) memory: GlobalMemory,
    pub(crate) placed: Placed,
}

impl Check {
    /// A text with the launch that its own comments carry.
    ///
    /// # Errors
    /// In one line: what does not parse, is missing or does not fit.
    pub fn new(text: &str) -> Result<Self, String> {
        Self::with_flags(text, Flags::default())
    }

    /// The same, where these flags win over the text's.
    pub(crate) fn with_flags(text: &str, flags: Flags) -> Result<Self, String> {
        let flags = flags.or(Flags::in_file(text)?);
        let policy = flags.policy()?;
        let mut module = nstage_ptx::parse(text).map_err(|errors| first_of(&errors))?;
        let entry = match &flags.entry {
            Some(name) => module
                .entry(name)
                .map_err(|error| error.to_string())?
                .name
                .clone(),
            None => only_entry(&module)?,
        };
        let program = Program::compile(&module, &entry).map_err(|error| error.to_string())?;
        let missing = |flag: &str| {
            format!(
                "--{flag} is missing; pass it, or write it into the file: // nstage: --{flag} 128"
            )
        };
        let launch = Launch {
            grid: flags.grid.ok_or_else(|| missing("grid"))?.0,
            block: flags.block.ok_or_else(|| missing("block"))?.0,
            cluster: flags.cluster.map_or(Dim3::ONE, |cluster| cluster.0),
            dynamic_shared: flags.dynamic_shared.unwrap_or(0),
            params: Vec::new(),
        };
        module
            .retain_entry(&entry)
            .map_err(|error| error.to_string())?;
        let clusters = launch.cluster != Dim3::ONE;
        let advice = nstage_sim::check::advise(&module, clusters, &policy);
        Ok(Self {
            program,
            entry,
            flags,
            policy,
            launch,
            advice,
        })
    }

    /// With limits that the text cannot raise: for whoever checks what strangers send.
    ///
    /// A run ends as incomplete after `steps` warp instructions or when the process holds more than `memory` bytes.
    #[must_use]
    pub fn within(mut self, steps: u64, memory: u64) -> Self {
        let asked = self.flags.max_steps.unwrap_or(steps);
        self.flags.max_steps = Some(asked.min(steps));
        self.flags.max_memory = Some(Bytes(self.flags.memory().0.min(memory)));
        self
    }

    /// The entry that is run.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// The flags that hold, the text's among them.
    pub(crate) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// The entry, decoded.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Places the arguments.
    ///
    /// # Errors
    /// In one line: an argument that cannot be placed, or a launch that does not fit the program.
    pub(crate) fn ready(&self) -> Result<Ready, String> {
        let mut memory = GlobalMemory::new();
        let placed = place::place(&self.flags.args, &mut memory, self.flags.memory())?;
        let launch = Launch {
            params: placed.params.clone(),
            ..self.launch.clone()
        };
        launch
            .check(&self.program)
            .map_err(|error| error.to_string())?;
        Ok(Ready {
            launch,
            memory,
            placed,
        })
    }

    /// Places the arguments and runs the entry, copies landing as said.
    ///
    /// # Errors
    /// In one line: an argument that cannot be placed, or a launch that does not fit the program.
    pub fn run(&self, landing: Landing) -> Result<Run, String> {
        let Ready {
            launch,
            mut memory,
            placed,
        } = self.ready()?;
        let options = self.flags.options(landing);
        let mut outcome = nstage_sim::run_with_policy(
            &self.program,
            &mut memory,
            &launch,
            &options,
            &self.policy,
        );
        outcome.findings.extend(self.advice.iter().cloned());
        for finding in &mut outcome.findings {
            finding.notes.extend(placed.argument_note(finding));
        }
        Ok(Run {
            outcome,
            memory,
            placed,
        })
    }
}

/// The name of the only entry.
fn only_entry(module: &nstage_ptx::ast::Module) -> Result<String, String> {
    let names: Vec<&str> = module.entries().map(|entry| entry.name.as_str()).collect();
    match names.as_slice() {
        [] => Err("has no .entry to run".to_owned()),
        [one] => Ok((*one).to_owned()),
        several => Err(format!(
            "has several entries; pass --entry {}",
            several.join(" or --entry ")
        )),
    }
}

/// The first mistake in a text, in one line, and how many there are.
fn first_of(errors: &nstage_ptx::ParseErrors) -> String {
    let Some(first) = errors.errors.first() else {
        return errors.to_string();
    };
    let more = match errors.errors.len() - 1 {
        0 => String::new(),
        1 => " (and 1 more error)".to_owned(),
        more => format!(" (and {more} more errors)"),
    };
    format!(
        "line {}, column {}: got {}, expected {}{more}",
        first.pos.line, first.pos.column, first.found, first.expected
    )
}
