//! The guide, followed to the letter in a folder outside this workspace: its files are written, its commands run, its output seen.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A fenced block: the word behind the fence, the file name behind that if there is one, and the text.
struct Block {
    language: String,
    file: Option<String>,
    text: String,
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(words) = line.strip_prefix("```") else {
            continue;
        };
        let (language, file) = words
            .split_once(' ')
            .map_or((words, None), |(l, f)| (l, Some(f)));
        let text = lines.by_ref().take_while(|line| *line != "```");
        blocks.push(Block {
            language: language.to_owned(),
            file: file.map(str::to_owned),
            text: text.map(|line| format!("{line}\n")).collect(),
        });
    }
    blocks
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Where this workspace is built.
fn target_dir() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_nstage-under-test"));
    program
        .ancestors()
        .nth(2)
        .expect("target/PROFILE/PROGRAM")
        .to_owned()
}

/// Runs a line of the guide in the project, and gives its standard output.
fn run(line: &str, project: &Path) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = match words[0] {
        "nstage" => Command::new(env!("CARGO_BIN_EXE_nstage-under-test")),
        "cargo" => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
        other => panic!("{line}: the guide uses cargo and nstage, no `{other}`"),
    };
    for (name, _) in std::env::vars_os() {
        // Cargo describes this package to its tests; a nested build would take that for its own.
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name == "LD_LIBRARY_PATH"
        {
            command.env_remove(&*name);
        }
    }
    // What the examples have built is built already, `core` for the device as well; a test fetches nothing.
    command
        .args(&words[1..])
        .current_dir(project)
        .env("CARGO_TARGET_DIR", target_dir().join("examples"))
        .env("NSTAGE_WORK_DIR", target_dir().join("nstage"))
        .env("CARGO_NET_OFFLINE", "true");
    let out = command
        .output()
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    let (stdout, stderr) = (
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    assert!(
        out.status.success(),
        "{line}: {}\n{stdout}{stderr}",
        out.status
    );
    stdout.into_owned()
}

#[test]
fn a_new_user_gets_what_the_guide_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path();
    let mut said = String::new();
    let (mut files, mut commands, mut shown) = (0, 0, 0);
    for block in blocks(&page("docs/guide.md")) {
        match (&*block.language, block.file) {
            (_, Some(file)) => {
                let path = project.join(file);
                std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("made");
                let text = block
                    .text
                    .replace("/path/to/nstage", root().to_str().expect("a path in UTF-8"));
                std::fs::write(path, text).expect("written");
                files += 1;
            }
            ("sh", None) => {
                for line in block.text.lines() {
                    said = run(line, project);
                    commands += 1;
                }
            }
            ("text", None) => {
                assert_eq!(said, block.text, "what the last command says");
                shown += 1;
            }
            (other, None) => panic!("a block of {other} without a file name:\n{}", block.text),
        }
    }
    assert!(
        files >= 8 && commands >= 4 && shown >= 1,
        "{files} files, {commands} commands, {shown} outputs"
    );
}

/// The README's few lines are the guide's, so that what is tried there holds here.
#[test]
fn the_readme_shows_the_guides_build_script() {
    let readme = page("README.md");
    let script = blocks(&readme)
        .into_iter()
        .find(|block| block.text.contains("nstage_builder::Builder::new"));
    let script = script.expect("the README shows a build script").text;
    let guide = blocks(&page("docs/guide.md"))
        .into_iter()
        .find(|block| block.file.as_deref() == Some("build.rs"));
    let guide = guide.expect("the guide has a build script").text;
    // Lines may be broken elsewhere there.
    let dense = |text: &str| {
        text.replace("nstage_builder::Builder", "Builder")
            .split_whitespace()
            .collect::<String>()
    };
    for line in script.lines() {
        assert!(
            dense(&guide).contains(&dense(line)),
            "not in the guide: {line}"
        );
    }
}
