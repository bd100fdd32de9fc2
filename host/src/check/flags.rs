//! The flags that describe a launch, from the command line and from the file's own comments.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser};
use nstage_sim::check::Policy;
use nstage_sim::{Dim3, Landing, Options};

use super::header;
use super::limits::{self, Bytes};
use super::spec::Spec;

/// An extent: `X`, `X,Y` or `X,Y,Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent(pub(crate) Dim3);

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text
            .split(',')
            .map(|number| number.trim().parse())
            .collect();
        match numbers.as_deref() {
            Ok([]) | Err(_) => Err("write X, X,Y or X,Y,Z".to_owned()),
            Ok(extents) if extents.len() > 3 => Err("an extent has at most 3 numbers".to_owned()),
            Ok(extents) if extents.contains(&0) => Err("an extent is at least 1".to_owned()),
            Ok(extents) => {
                let at = |index| extents.get(index).copied().unwrap_or(1);
                Ok(Self(Dim3::new(at(0), at(1), at(2))))
            }
        }
    }
}

/// `--landing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landings {
    /// One way.
    One(Landing),
    /// Late, early and at random, one run each.
    All,
}

impl Landings {
    /// The runs to make.
    pub(crate) fn each(self) -> Vec<Landing> {
        match self {
            Self::One(landing) => vec![landing],
            Self::All => vec![Landing::Late, Landing::Early, Landing::Random(1)],
        }
    }
}

impl FromStr for Landings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write late, random:SEED, early or all".to_owned();
        match text {
            "late" => Ok(Self::One(Landing::Late)),
            "early" => Ok(Self::One(Landing::Early)),
            "all" => Ok(Self::All),
            _ => {
                let seed = text.strip_prefix("random:").ok_or_else(wrong)?;
                seed.parse()
                    .map(|seed| Self::One(Landing::Random(seed)))
                    .map_err(|_| wrong())
            }
        }
    }
}

/// `--policy NAME=LEVEL`; the names are the checker's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyFlag {
    pub(crate) name: String,
    pub(crate) level: String,
}

impl FromStr for PolicyFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = text
            .split_once('=')
            .ok_or("write NAME=error, NAME=advisory or NAME=off")?;
        Ok(Self {
            name: name.to_owned(),
            level: level.to_owned(),
        })
    }
}

/// `--dump INDEX=FILE.npy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dump {
    /// The argument whose buffer is written.
    pub(crate) argument: usize,
    /// Where to.
    pub(crate) path: PathBuf,
}

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = "write INDEX=FILE.npy with the argument's number, from zero";
        let (index, path) = text.split_once('=').ok_or(wrong)?;
        let argument = index.parse().map_err(|_| wrong)?;
        Ok(Self {
            argument,
            path: path.into(),
        })
    }
}

/// A launch and how it is judged.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The entry to run; needed where the file has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Blocks of the grid.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) grid: Option<Extent>,
    /// Threads of a block.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) block: Option<Extent>,
    /// Blocks of a cluster.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) cluster: Option<Extent>,
    /// Bytes of dynamic shared memory.
    #[arg(long, value_name = "BYTES")]
    pub(crate) dynamic_shared: Option<u32>,
    /// An argument, in parameter order: u32=7, f32[64]=ramp, f32[64]+4=random:1, @0, slice:f32[64]=zero, bytes[8]=HEX, 'tensor:f32[64,64] box=32,32 swizzle=128=ramp'.
    #[arg(long = "arg", value_name = "SPEC")]
    pub(crate) args: Vec<Spec>,
    /// When asynchronous copies land: late (the default), random:SEED, early, or all of them in turn.
    #[arg(long, value_name = "WHEN")]
    pub(crate) landing: Option<Landings>,
    /// Warp instructions after which the run is given up; 4294967296 unless said.
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<u64>,
    /// Memory beyond which the run is given up, as 512M or 16G; 8G unless said.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_memory: Option<Bytes>,
    /// How much a class of findings or a disputed rule weighs: NAME=error, NAME=advisory or NAME=off.
    #[arg(long = "policy", value_name = "NAME=LEVEL")]
    pub(crate) policies: Vec<PolicyFlag>,
    /// Let advisories fail the check too.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// The flags alone, for a file's comments.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct InFile {
    #[command(flatten)]
    flags: Flags,
}

impl Flags {
    /// The flags in a file's comments.
    pub(crate) fn in_file(text: &str) -> Result<Self, String> {
        let words = header::flags(text)?;
        match InFile::try_parse_from(words) {
            Ok(parsed) => Ok(parsed.flags),
            Err(error) => Err(crate::cli::one_line(&error.render().to_string())),
        }
    }

    /// How to run, copies landing as said, inside the limits of the flags.
    pub(crate) fn options(&self, landing: Landing) -> Options {
        Options {
            landing,
            check: true,
            max_steps: Some(self.max_steps.unwrap_or(limits::MOST_STEPS)),
            max_memory: Some(limits::memory(self.memory())),
        }
    }

    /// Memory that the run may take.
    pub(crate) fn memory(&self) -> Bytes {
        self.max_memory.unwrap_or(limits::MOST_MEMORY)
    }

    /// The weights of findings that the flags ask for.
    pub(crate) fn policy(&self) -> Result<Policy, String> {
        let mut policy = Policy::default();
        for PolicyFlag { name, level } in &self.policies {
            policy
                .set(name, level)
                .map_err(|error| format!("--policy {name}={level}: {error}"))?;
        }
        Ok(policy)
    }

    /// These flags, and where one is not given the file's. Lists count as given when they are not empty.
    pub(crate) fn or(self, file: Self) -> Self {
        let list = |mine: Vec<_>, file| if mine.is_empty() { file } else { mine };
        let policies = |mine: Vec<_>, file| if mine.is_empty() { file } else { mine };
        Self {
            entry: self.entry.or(file.entry),
            grid: self.grid.or(file.grid),
            block: self.block.or(file.block),
            cluster: self.cluster.or(file.cluster),
            dynamic_shared: self.dynamic_shared.or(file.dynamic_shared),
            args: list(self.args, file.args),
            landing: self.landing.or(file.landing),
            max_steps: self.max_steps.or(file.max_steps),
            max_memory: self.max_memory.or(file.max_memory),
            policies: policies(self.policies, file.policies),
            strict: self.strict || file.strict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_landings() {
        for (text, expected) in [
            ("4", Ok(Dim3::new(4, 1, 1))),
            ("4,2", Ok(Dim3::new(4, 2, 1))),
            ("4, 2 ,3", Ok(Dim3::new(4, 2, 3))),
            ("0", Err("an extent is at least 1")),
            ("1,2,3,4", Err("an extent has at most 3 numbers")),
            ("x", Err("write X, X,Y or X,Y,Z")),
            ("", Err("write X, X,Y or X,Y,Z")),
            ("-1", Err("write X, X,Y or X,Y,Z")),
        ] {
            let parsed = text.parse::<Extent>().map(|extent| extent.0);
            assert_eq!(parsed, expected.map_err(str::to_owned), "{text}");
        }
        assert_eq!("random:9".parse(), Ok(Landings::One(Landing::Random(9))));
        assert_eq!("all".parse::<Landings>().unwrap().each().len(), 3);
        assert!("sometimes".parse::<Landings>().is_err());
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let file = "// nstage: --grid 2 --block 64 --arg u32=1 --arg 'f32[4]=1, 2'\n// nstage: --max-steps 10\n";
        let mine = InFile::try_parse_from(["--grid", "5,5", "--arg", "u32=7"])
            .unwrap()
            .flags;
        let flags = mine.or(Flags::in_file(file).unwrap());
        assert_eq!(flags.grid, Some(Extent(Dim3::new(5, 5, 1))));
        assert_eq!(flags.block, Some(Extent(Dim3::new(64, 1, 1))));
        assert_eq!((flags.args.len(), flags.max_steps), (1, Some(10)));
    }

    #[test]
    fn a_mistake_in_the_file_is_one_line() {
        let message = Flags::in_file("// nstage: --grid 0").unwrap_err();
        assert_eq!(
            message,
            "invalid value '0' for '--grid <X[,Y[,Z]]>': an extent is at least 1"
        );
    }
}
