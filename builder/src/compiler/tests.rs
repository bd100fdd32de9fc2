//! The order in which compilers are looked for.
//!
//! A toolchain that rustup knows is had by linking Debian's compiler, which has its source, under a name of ours.

use super::*;

/// A search that finds nothing by itself.
fn nowhere() -> Search {
    Search {
        active: "/nowhere/rustc".into(),
        debian: "/nowhere/debian/rustc".into(),
        ..Search::default()
    }
}

fn debian_is_here(test: &str) -> bool {
    let here = nowhere()
        .probe(Path::new(DEBIAN_RUSTC), Path::new("/"), Origin::Debian)
        .is_ok();
    if !here {
        skip(test, "Debian's rustc-web is not installed");
    }
    here
}

/// Notes that a test cannot run here; the summary of `cargo xtask test` shows it.
fn skip(test: &str, reason: &str) {
    println!("skipping: {reason}");
    if let Some(log) = env::var_os("NSTAGE_SKIP_LOG") {
        use std::io::Write;
        let file = std::fs::File::options().create(true).append(true).open(log);
        file.and_then(|mut file| writeln!(file, "{test}: {reason}"))
            .expect("the skip is noted");
    }
}

#[test]
fn what_was_looked_at_is_listed_with_a_remedy() {
    let error = nowhere().find(Path::new("/")).expect_err("there is none");
    assert!(error.is_no_compiler());
    let text = error.to_string();
    for expected in [
        "/nowhere/rustc cannot be run",
        "; /nowhere/debian/rustc cannot be run",
        "rust",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let named = Search {
        named: Some("/nowhere/named".into()),
        ..nowhere()
    };
    let text = named
        .find(Path::new("/"))
        .expect_err("it is not there")
        .to_string();
    assert!(
        text.contains("/nowhere/named cannot be run")
            && text.ends_with("or let it name a rustc with its library source"),
        "{text}"
    );
    assert!(
        !text.contains("debian"),
        "an explicit choice is not passed over: {text}"
    );
}

#[test]
fn debian_comes_after_the_active_toolchain() {
    if !debian_is_here("debian_comes_after_the_active_toolchain") {
        return;
    }
    let debian = PathBuf::from(DEBIAN_RUSTC);
    let cases = [
        (
            Search {
                debian: debian.clone(),
                ..nowhere()
            },
            Origin::Debian,
        ),
        (
            Search {
                active: debian.clone(),
                debian: debian.clone(),
                ..nowhere()
            },
            Origin::Active,
        ),
        (
            Search {
                named: Some(debian.clone()),
                active: debian.clone(),
                ..nowhere()
            },
            Origin::Variable,
        ),
    ];
    for (search, origin) in cases {
        let compiler = search.find(Path::new("/")).expect("it is here");
        assert_eq!((compiler.origin, &compiler.rustc), (origin, &debian));
    }
}

/// A toolchain under a name of ours, taken away again even if the test fails.
struct Linked(String);

impl Linked {
    fn new(folder: &Path) -> Option<Self> {
        let name = format!("nstage-test-{}", std::process::id());
        let status = Command::new("rustup")
            .args(["toolchain", "link", &name])
            .arg(folder)
            .status()
            .ok()?;
        status.success().then_some(Self(name))
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        let uninstall = ["toolchain", "uninstall", &self.0];
        let status = Command::new("rustup").args(uninstall).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!(
                "the toolchain {} is still linked; run `rustup {}`",
                self.0,
                uninstall.join(" ")
            );
        }
    }
}

#[test]
fn a_toolchain_of_rustups_is_taken_if_it_has_its_source() {
    const TEST: &str = "a_toolchain_of_rustups_is_taken_if_it_has_its_source";
    if !debian_is_here(TEST) {
        return;
    }
    let Some(linked) = Linked::new(Path::new("/usr")) else {
        return skip(TEST, "rustup is not installed");
    };
    let search = Search {
        active: "rustc".into(),
        variables: vec![("RUSTUP_TOOLCHAIN", linked.0.clone().into())],
        ..nowhere()
    };
    let compiler = search
        .find(Path::new("/"))
        .expect("the linked toolchain has its source");
    assert_eq!(compiler.origin, Origin::Active);
    assert_eq!(
        compiler.rustc,
        Path::new(DEBIAN_RUSTC),
        "the compiler itself and not rustup's proxy"
    );
}
