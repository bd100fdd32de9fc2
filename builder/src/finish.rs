//! Writes into the PTX what rustc cannot: an entry's launch bounds, the alignment of its parameters, and the header of each target that the code is for.
//!
//! The text is edited in place and not printed anew, so that everything else stays as the compiler wrote it.

use crate::Target;
use crate::checks::{self, Context, Failure};
use crate::declaration::{self, Bound, Declaration};
use crate::versions;
use nstage_ptx::ParseErrors;
use nstage_ptx::ast::{Function, Item, Module, Version};

/// What comes of a compiler's output.
pub(crate) struct Output {
    /// The finished text.
    pub(crate) text: String,
    /// The names of its entries, and of those that it is too low for.
    pub(crate) entries: Vec<String>,
    /// What is wrong with it; every line counts in the finished text.
    pub(crate) failures: Vec<Failure>,
}

/// Finishes for `target` what the compiler wrote for `code`, and checks the result.
pub(crate) fn finish_and_check(
    raw: &str,
    code: Target,
    target: Target,
) -> Result<Output, ParseErrors> {
    let mut module = nstage_ptx::parse(raw)?;
    let (mut declarations, _) = declaration::read(raw);
    let mut failures = checks::header(&module, code);
    let (text, left_out) = without_higher(raw, &module, &declarations, target);
    if !left_out.is_empty() {
        module = nstage_ptx::parse(&text)?;
        declarations = declaration::read(&text).0;
    }
    let text = finish(&text, &module, &declarations, &mut failures);
    let lowest = target.version().max(versions::needed(&module));
    let declared = declarations
        .iter()
        .filter_map(|declaration| declaration.ptx);
    let version = declared.fold(lowest, Ord::max);
    let text = with_header(&text, target, version);
    let module = nstage_ptx::parse(&text)?;
    // Read again for the lines, which the inserted directives have moved.
    let (declarations, unreadable) = declaration::read(&text);
    failures.extend(unreadable.into_iter().map(|unreadable| {
        let problem = format!("an entry's declaration {}", unreadable.problem);
        Failure::of_file(
            unreadable.line,
            problem,
            "correct it where the kernel is declared",
        )
    }));
    let context = Context::new(&module, &declarations);
    // A file whose entries all need a higher target is empty, and right.
    if left_out.is_empty() || context.entries().next().is_some() {
        failures.extend(context.check());
    }
    let entries = context.entries().map(str::to_owned).chain(left_out);
    let entries = entries.collect();
    Ok(Output {
        text,
        entries,
        failures,
    })
}

/// The text without the entries that need more than `target`, and their names.
fn without_higher(
    text: &str,
    module: &Module,
    declarations: &[Declaration],
    target: Target,
) -> (String, Vec<String>) {
    let higher = declarations
        .iter()
        .filter(|declaration| !target.has(declaration.requires, declaration.specific));
    let names: Vec<&str> = higher
        .map(|declaration| declaration.entry.as_str())
        .collect();
    if names.is_empty() {
        return (text.to_owned(), Vec::new());
    }
    let all: Vec<&str> = text.lines().collect();
    let mut kept = vec![true; all.len()];
    let functions = names.iter().filter_map(|name| entry(module, name));
    for function in functions {
        let from = function.pos.line as usize - 1;
        let to = last_line(&all[from..]) + from;
        kept[from..=to].fill(false);
        // The compiler's comment on where it begins goes with it.
        kept[from.saturating_sub(1)] &=
            !all[from.saturating_sub(1)].contains("// -- Begin function");
    }
    for (line, kept) in all.iter().zip(&mut kept) {
        let (declared, _) = declaration::read(line);
        *kept &= !declared
            .iter()
            .any(|own| names.contains(&own.entry.as_str()));
    }
    let lines = all
        .iter()
        .zip(kept)
        .filter_map(|(line, kept)| kept.then_some(*line));
    let text = lines.flat_map(|line| [line, "\n"]).collect();
    (text, names.into_iter().map(str::to_owned).collect())
}

/// The line of the brace that closes the first body in these lines.
fn last_line(lines: &[&str]) -> usize {
    let (mut open, mut begun) = (0_i32, false);
    for (index, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        for byte in code.bytes() {
            match byte {
                b'{' => open += 1,
                b'}' => open -= 1,
                _ => {}
            }
            begun |= open > 0;
        }
        if begun && open == 0 {
            return index;
        }
    }
    lines.len().saturating_sub(1)
}

/// The finished text. What a declaration asks for and cannot have is added to `failures`.
pub(crate) fn finish(
    text: &str,
    module: &Module,
    declarations: &[Declaration],
    failures: &mut Vec<Failure>,
) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // Bottom to top, so that an inserted line moves nothing that is still to be edited.
    let mut entries: Vec<(&Declaration, &Function)> = Vec::new();
    for declaration in declarations {
        match entry(module, &declaration.entry) {
            Some(function) => entries.push((declaration, function)),
            None => failures.push(Failure::of_entry(
                &declaration.entry,
                declaration.line,
                "it is declared, but the PTX has no such entry",
                "export a function `extern \"ptx-kernel\"` under this name, or remove the declaration",
            )),
        }
    }
    entries.sort_by_key(|(_, function)| std::cmp::Reverse(function.pos));
    for (declaration, function) in entries {
        insert_directives(&mut lines, declaration, function, failures);
        align_params(&mut lines, declaration, function, failures);
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The text with this version and the architecture of `target` in its first `.version` and `.target`.
fn with_header(text: &str, target: Target, version: Version) -> String {
    let version = format!("{}.{}", version.major, version.minor);
    let text = with_word(text, ".version", &version);
    with_word(&text, ".target", target.name())
}

/// The text with the first word behind `directive` replaced; what follows it on the line, such as `, debug`, stays.
fn with_word(text: &str, directive: &str, word: &str) -> String {
    let mut lines = text.split_inclusive('\n');
    let mut done = String::with_capacity(text.len());
    for line in lines.by_ref() {
        let Some(rest) = line.trim_start().strip_prefix(directive) else {
            done.push_str(line);
            continue;
        };
        let end = rest
            .trim_start()
            .find(|end: char| end == ',' || end.is_whitespace());
        let rest = &rest.trim_start()[end.unwrap_or(rest.trim_start().len())..];
        done.extend([directive, " ", word, rest]);
        break;
    }
    done.extend(lines);
    done
}

/// The entry of this name that has a body.
fn entry<'a>(module: &'a Module, name: &str) -> Option<&'a Function> {
    module.items.iter().find_map(|item| match item {
        Item::Function(function)
            if function.is_entry && function.name == name && function.body.is_some() =>
        {
            Some(function)
        }
        _ => None,
    })
}

/// Puts the declared bounds before the body's opening brace, one a line.
fn insert_directives(
    lines: &mut Vec<String>,
    declaration: &Declaration,
    function: &Function,
    failures: &mut Vec<Failure>,
) {
    let mut missing: Vec<&Bound> = Vec::new();
    for bound in &declaration.directives {
        match function
            .directives
            .iter()
            .find(|old| old.name == bound.name)
        {
            None => missing.push(bound),
            Some(old) if old.values == bound.values => {}
            Some(old) => failures.push(Failure::of_entry(
                &declaration.entry,
                old.pos.line,
                format!(
                    "got `{} {}` from the compiler, expected `{bound}` as declared",
                    old.name,
                    list(&old.values)
                ),
                "state it in one place only",
            )),
        }
    }
    let Some((at, column)) = opening_brace(lines, function) else {
        failures.push(Failure::of_entry(
            &declaration.entry,
            function.pos.line,
            "its body has no opening brace",
            "build it again; the file is damaged",
        ));
        return;
    };
    let rest = lines[at].split_off(column);
    let before = std::mem::take(&mut lines[at]);
    let head = Some(before.trim_end().to_owned()).filter(|before| !before.is_empty());
    let bounds = missing.iter().map(ToString::to_string);
    lines.splice(at..=at, head.into_iter().chain(bounds).chain([rest]));
}

/// Line index and byte of the `{` that opens the body: the first one behind the name, since no parameter list holds one.
fn opening_brace(lines: &[String], function: &Function) -> Option<(usize, usize)> {
    let from = function.pos.line as usize - 1;
    let places = lines.iter().enumerate().skip(from);
    places
        .filter_map(|(index, line)| {
            let code = line.split("//").next().unwrap_or(line);
            code.find('{').map(|column| (index, column))
        })
        .next()
}

/// Raises the alignment of the declared parameters.
fn align_params(
    lines: &mut [String],
    declaration: &Declaration,
    function: &Function,
    failures: &mut Vec<Failure>,
) {
    for &(index, align) in &declaration.aligned_params {
        let Some(param) = function.params.get(index) else {
            failures.push(Failure::of_entry(
                &declaration.entry,
                declaration.line,
                format!(
                    "got `param={index}`, expected 0 to {}: it has {} parameters",
                    function.params.len().saturating_sub(1),
                    function.params.len()
                ),
                "count the parameters from zero",
            ));
            continue;
        };
        if param.align.is_none_or(|old| old < align)
            && let Some(line) = lines.get_mut(param.pos.line as usize - 1)
        {
            *line = aligned(line, &param.name, align);
        }
    }
}

/// A parameter's line with its alignment replaced, or added where it has none.
fn aligned(line: &str, name: &str, align: u32) -> String {
    // Several parameters may share a line: the last `.param` before the name is this one's.
    let end = line.rfind(name).unwrap_or(line.len());
    let Some(start) = line[..end].rfind(".param").map(|at| at + ".param".len()) else {
        return line.to_owned();
    };
    let mut words: Vec<&str> = line[start..end].split_whitespace().collect();
    // `.ptr .align N` speaks of what a pointer points to, and comes behind the type.
    if words.first() == Some(&".align") {
        words.drain(..2.min(words.len()));
    }
    format!(
        "{} .align {align} {} {}",
        &line[..start],
        words.join(" "),
        &line[end..]
    )
}

fn list(values: &[u64]) -> String {
    values
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(text: &str) -> (String, Vec<String>) {
        let text = format!(".version 7.0\n.target sm_80\n.address_size 64\n{text}");
        let module = nstage_ptx::parse(&text).expect("well formed");
        let (declarations, unreadable) = declaration::read(&text);
        assert_eq!(unreadable, []);
        let mut failures = Vec::new();
        let text = finish(&text, &module, &declarations, &mut failures);
        nstage_ptx::parse(&text).expect("still well formed");
        (text, failures.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn bounds_and_alignments_are_written() {
        let (text, failures) = finished(
            "// nstage-entry: a maxntid=128 minnctapersm=2\n// nstage-entry: b reqnctapercluster=2,1,1 maxnreg=64 param=1:align=64 param=0:align=8\n\
             .visible .entry a(\n\t.param .u64 .ptr .align 1 a_param_0\n)\n{\n\tret;\n}\n\
             .visible .entry b(.param .u64 .ptr .align 4 b_param_0, .param .align 8 .b8 b_param_1[128]) { ret; }\n",
        );
        assert_eq!(failures, [""; 0]);
        let a = ".visible .entry a(\n\t.param .u64 .ptr .align 1 a_param_0\n)\n.maxntid 128\n.minnctapersm 2\n{\n\tret;\n}\n";
        assert!(text.contains(a), "{text}");
        let b = ".visible .entry b(.param .align 8 .u64 .ptr .align 4 b_param_0, .param .align 64 .b8 b_param_1[128])\n\
                 .reqnctapercluster 2, 1, 1\n.maxnreg 64\n{ ret; }\n";
        assert!(text.contains(b), "{text}");
    }

    #[test]
    fn one_code_gets_the_header_of_each_target() {
        let raw = "//\n.version 7.0\n.target sm_80, debug\n.address_size 64\n.visible .entry a() { ret; } // .target sm_80\n";
        let output = finish_and_check(raw, Target::SM_80, Target::SM_90A).expect("well formed");
        assert!(output.failures.is_empty(), "{}", output.failures[0]);
        assert_eq!(
            output.text,
            raw.replacen("7.0", "8.0", 1).replacen("sm_80", "sm_90a", 1)
        );
    }

    #[test]
    fn a_header_that_was_not_asked_for_is_a_fault() {
        let raw = ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry a() { ret; }\n";
        let output = finish_and_check(raw, Target::SM_80, Target::SM_90).expect("well formed");
        let failures: Vec<String> = output.failures.iter().map(ToString::to_string).collect();
        assert_eq!(failures.len(), 2, "{failures:?}");
        assert!(
            failures[0].contains("got 8.6, expected 7.0 at most"),
            "{failures:?}"
        );
        assert!(
            failures[1].contains("got sm_100, expected sm_80"),
            "{failures:?}"
        );
    }

    #[test]
    fn an_entry_is_only_in_files_for_targets_that_have_its_instructions() {
        let raw = "//\n.version 7.0\n.target sm_80\n.address_size 64\n\
             // nstage-entry: a requires=sm_80 ptx=7.1\n// nstage-entry: b requires=sm_90 ptx=8.0\n// nstage-entry: c requires=sm_90 ptx=8.1 specific=1\n\
             .visible .entry a() { ret; }\n\t// .globl b // -- Begin function b\n.visible .entry b()\n{\n\t{ bar.sync 0; }\n\tret;\n}\n.visible .entry c() { ret; }\n";
        for (target, version, entries) in [
            (Target::SM_80, ".version 7.1\n", "a"),
            (Target::SM_90, ".version 8.0\n", "a b"),
            (Target::SM_90A, ".version 8.1\n", "a b c"),
            (
                Target::named("sm_100a").expect("known"),
                ".version 8.6\n",
                "a b",
            ),
        ] {
            let output = finish_and_check(raw, Target::SM_80, target).expect("well formed");
            assert_eq!(output.failures, [], "{target}");
            assert!(output.text.contains(version), "{target}: {}", output.text);
            let there: Vec<&str> = ["a", "b", "c"]
                .into_iter()
                .filter(|name| output.text.contains(&format!(".entry {name}(")))
                .collect();
            assert_eq!(there.join(" "), entries, "{target}");
            let mut all = output.entries.clone();
            all.sort();
            assert_eq!(all, ["a", "b", "c"], "what was asked for counts as there");
        }
    }

    #[test]
    fn what_is_there_already_stays() {
        let plain = "// nstage-entry: a maxntid=128 param=0:align=16\n.visible .entry a(.param .align 32 .b8 p[64])\n.maxntid 128\n{\n\tret;\n}\n";
        let (text, failures) = finished(plain);
        assert_eq!(failures, [""; 0]);
        assert!(text.ends_with(plain), "{text}");
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let cases = [
            (
                "// nstage-entry: b maxntid=32\n.visible .entry a() { ret; }\n",
                "entry `b`, line 4: it is declared, but the PTX has no such entry",
            ),
            (
                "// nstage-entry: a param=1:align=64\n.visible .entry a(.param .u32 p) { ret; }\n",
                "got `param=1`, expected 0 to 0: it has 1 parameters",
            ),
            (
                "// nstage-entry: a maxntid=32\n.visible .entry a() .maxntid 64 { ret; }\n",
                "got `.maxntid 64` from the compiler, expected `.maxntid 32` as declared",
            ),
        ];
        for (text, expected) in cases {
            let (_, failures) = finished(text);
            assert!(
                failures.len() == 1 && failures[0].contains(expected),
                "{text}: {failures:?}"
            );
        }
    }
}
