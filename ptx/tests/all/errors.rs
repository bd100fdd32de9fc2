//! Messages: the place, what was found, what was expected; and that one mistake does not hide the next.

use nstage_ptx::{MAX_BYTES, MAX_ERRORS, MAX_NESTING, parse};

/// In a function body, on its own line.
fn in_body(statement: &str) -> String {
    format!(".version 8.0\n.target sm_80\n.entry f()\n{{\n{statement}\nret;\n}}\n")
}

#[test]
fn each_mistake_is_told_in_place() {
    let cases = [
        (
            "add.s32 %r1, %r2",
            "5:17: got `ret` on line 6, expected `,` or `;` after an operand",
        ),
        ("add.s32 %r1, ;", "5:14: got `;`, expected an operand"),
        (
            "add.s32 %r1, [%r2;",
            "5:18: got `;`, expected `+`, `-` or `]` in an address",
        ),
        (
            "mov.b64 {%r1, %r2, %rd1;",
            "5:24: got `;`, expected `,` or `}` in a vector",
        ),
        (
            "mov.f32 %f1, 0f3F80;",
            "5:14: got `0f3F80`, expected `0f` and eight hexadecimal digits",
        ),
        (
            "mov.u64 %rd1, 18446744073709551616;",
            "5:15: got `18446744073709551616`, expected an integer of at most 64 bits",
        ),
        (
            "mov.u32 %r1, 08;",
            "5:14: got `08`, expected octal digits (a leading zero makes a number octal) of at most 64 bits",
        ),
        (
            "mov.u32 %r1, 1 / (3 - 3);",
            "5:16: got a division by zero, expected a divisor other than zero",
        ),
        ("@ 7;", "5:3: got `7`, expected a predicate register"),
        (
            ".reg .b31 %r;",
            "5:6: got `.b31`, expected a type, `.align`, `.v2`, `.v4` or `.ptr`",
        ),
        (
            ".reg .b32 %r<x>;",
            "5:14: got `x`, expected how many registers",
        ),
        (
            ".maxntid 3;",
            "5:1: got `.maxntid`, expected `.reg`, `.local`, `.shared`, `.param`, `.loc` or `.pragma`",
        ),
        (
            "call (%r1, f;",
            "5:13: got `;`, expected `,` or `)` in a list",
        ),
        (
            "é add;",
            "5:1: got `é`, expected an instruction, a label, a declaration or `}`",
        ),
        (
            ".pragma \"open;",
            "5:9: got a string without its closing quote, expected a string",
        ),
        (".loc 1 2;", "5:9: got `;`, expected a column"),
    ];
    for (statement, expected) in cases {
        let errors = parse(&in_body(statement)).expect_err(statement);
        assert_eq!(errors.errors.len(), 1, "{statement}: {errors}");
        let first = errors.to_string();
        assert_eq!(first.lines().next(), Some(expected), "{statement}");
    }
}

#[test]
fn module_level_mistakes_are_told_in_place() {
    let cases = [
        (
            "",
            "1:1: got the end of the text, expected `.version` in front of everything else",
        ),
        (
            ".version 8\n.target sm_80",
            "1:10: got `8`, expected a version such as 8.0",
        ),
        (
            ".version 8.0",
            "1:1: got `.version`, expected `.target` after `.version`",
        ),
        (
            ".version 8.0\n.target 80",
            "2:9: got `80`, expected a target such as sm_80",
        ),
        (
            ".version 8.0\n.target sm_80\n.address_size 16",
            "3:15: got `16`, expected 32 or 64",
        ),
        (
            ".version 8.0\n.target sm_80\n.version 8.0",
            "3:1: got a second `.version`, expected one for the whole text",
        ),
        (
            ".version 8.0\n.target sm_80\n.visible ret;",
            "3:10: got `ret`, expected `.entry`, `.func` or a state space",
        ),
        (
            ".version 8.0\n.target sm_80\n.global .u32 x[2] = {1 2};",
            "3:24: got `2`, expected `,` or `}` in an initialiser",
        ),
        (
            ".version 8.0\n.target sm_80\n.entry f(.global .u32 x) {}",
            "3:10: got `.global`, expected `.param` or `.reg`",
        ),
        (
            ".version 8.0\n.target sm_80\n.entry f() {\n/* never",
            "4:1: got a comment without its `*/`, expected an instruction",
        ),
        (
            ".version 8.0\n.target sm_80\n.entry f() {\n{ ret;",
            "4:7: got the end of the text, expected `}` for the `{` on line 4",
        ),
    ];
    for (text, expected) in cases {
        let errors = parse(text).expect_err(text).to_string();
        assert!(
            errors.starts_with(expected),
            "{text}\ngot      {errors}\nexpected {expected}"
        );
    }
}

#[test]
fn a_message_shows_the_line_and_points_at_the_place() {
    let errors = parse(&in_body("\tadd.s32\t%r1, %r2, é3;"))
        .expect_err("é begins no name")
        .to_string();
    let expected = "5:20: got `é`, expected an operand\n 5 |  add.s32 %r1, %r2, é3;\n   |                    ^";
    assert_eq!(errors, expected);
}

#[test]
fn long_lines_are_shortened_around_the_place() {
    let statement = format!(
        "{}add.s32 %r1, %%; {}",
        "mov.u32 %r1, %r2; ".repeat(100),
        "ret; ".repeat(100)
    );
    let errors = parse(&in_body(&statement)).expect_err("`%%` is no operand");
    let excerpt = &errors.errors[0].excerpt;
    assert!(excerpt.text.chars().count() <= 120, "{}", excerpt.text);
    assert!(
        excerpt.text[excerpt.caret..].starts_with("%%"),
        "{}",
        excerpt.text
    );
}

#[test]
fn all_mistakes_are_collected() {
    let text = in_body("add.s32 %r1 %r2;\nmov.b32 {%h0, %h1 %r1;\n{ foo bar baz; }\n.reg .x;")
        + ".entry g( {}\n.global .u32 y = ;";
    let errors = parse(&text).expect_err("six mistakes");
    let lines: Vec<u32> = errors.errors.iter().map(|error| error.pos.line).collect();
    assert_eq!(lines, [5, 6, 7, 8, 11, 12], "{errors}");
}

#[test]
fn so_many_mistakes_are_enough() {
    let errors = parse(&in_body(&"? ;\n".repeat(10_000))).expect_err("not PTX");
    assert!(errors.truncated);
    assert_eq!(errors.errors.len(), MAX_ERRORS);
    assert!(errors.to_string().ends_with("stopped after 100 errors"));
}

#[test]
fn nesting_has_a_limit() {
    let deep = 100_000;
    let cases = [
        in_body(&format!("{} {}", "{".repeat(deep), "}".repeat(deep))),
        in_body(&format!(
            "mov.u32 %r1, {}1{};",
            "(".repeat(deep),
            ")".repeat(deep)
        )),
        in_body(&format!("mov.u32 %r1, {}1;", "-".repeat(deep))),
        in_body(&format!("mov.u32 %r1, {}1;", "1 ? 1 : ".repeat(deep))),
        format!(
            ".version 8.0\n.target sm_80\n.global .u32 x = {}1{};",
            "{".repeat(deep),
            "}".repeat(deep)
        ),
    ];
    for text in cases {
        let errors = parse(&text).expect_err("nested too deep").to_string();
        let told = format!(
            "nested {} deep, expected at most {MAX_NESTING}",
            MAX_NESTING + 1
        );
        assert!(
            errors
                .lines()
                .next()
                .is_some_and(|first| first.ends_with(&told)),
            "{errors}"
        );
    }
}

#[test]
fn endless_texts_are_refused_unread() {
    let errors = parse(&" ".repeat(MAX_BYTES + 1))
        .expect_err("too long")
        .to_string();
    assert!(
        errors.starts_with("1:1: got a text of 67108865 bytes, expected at most 67108864 bytes"),
        "{errors}"
    );
}
