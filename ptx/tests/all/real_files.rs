//! Files that compilers wrote, and one that holds the corners of the language.

use nstage_ptx::ast::{Immediate, Init, Item, Operand, Statement};
use nstage_ptx::parse;

#[test]
fn every_real_file_reads_and_prints_to_the_same_tree() {
    for (path, text) in crate::common::corpus() {
        let module = parse(&text).unwrap_or_else(|errors| panic!("{path}: {errors}"));
        let printed = module.to_string();
        let again = parse(&printed).unwrap_or_else(|errors| panic!("{path} as printed: {errors}"));
        assert_eq!(
            crate::common::without_places(again),
            crate::common::without_places(module),
            "{path}"
        );
    }
}

#[test]
fn places_are_those_of_the_text() {
    for (path, text) in crate::common::corpus() {
        let lines: Vec<&str> = text.lines().collect();
        let module = parse(&text).unwrap_or_else(|errors| panic!("{path}: {errors}"));
        let mut seen = 0;
        for item in &module.items {
            let Item::Function(function) = item else {
                continue;
            };
            for statement in function.body.iter().flatten() {
                let Statement::Instruction(instruction) = statement else {
                    continue;
                };
                let (line, column) = (
                    instruction.pos.line as usize,
                    instruction.pos.column as usize,
                );
                let at: String = lines[line - 1].chars().skip(column - 1).collect();
                assert!(
                    at.starts_with(&instruction.mnemonic()),
                    "{path}:{line}:{column}: {at}"
                );
                seen += 1;
            }
        }
        assert!(seen > 30, "{path}: only {seen} instructions");
    }
}

#[test]
fn constants_are_folded_as_the_isa_has_them() {
    let int = |bits: i64| Immediate::Int {
        bits: bits.cast_unsigned(),
        negative: bits < 0,
    };
    let unsigned = |bits: u64| Immediate::Int {
        bits,
        negative: false,
    };
    let cases = [
        ("0", int(0)),
        ("017", int(15)),
        ("0x1f", int(31)),
        ("0b1010", int(10)),
        ("7U", int(7)),
        ("-2147483648", int(-2_147_483_648)),
        ("-9223372036854775808", int(i64::MIN)),
        ("18446744073709551615", unsigned(u64::MAX)),
        ("~0", int(-1)),
        ("~0U", unsigned(u64::MAX)),
        ("1 + 2 * 3 - 4 / 2", int(5)),
        ("(1 + 2) * 3 % 5", int(4)),
        ("-7 / 2", int(-3)),
        ("-7 >> 1", int(-4)),
        ("1 << 63", unsigned(1 << 63)),
        ("0xF0 & 0x3C | 1 ^ 3", int(0x32)),
        ("2 < 1 || 3 >= 3 && 1 != 2", int(1)),
        ("-1 < 0U", int(0)),
        ("(.s64) 18446744073709551615 < 0", int(1)),
        ("0 ? 1 : 2 ? 3 : 4", int(3)),
        ("!5", int(0)),
        ("WARP_SZ - 1", int(31)),
        ("0f3F800000", Immediate::F32(0x3F80_0000)),
        ("0F7fc00001", Immediate::F32(0x7FC0_0001)),
        ("-0d3FF0000000000000", Immediate::F64(0xBFF0_0000_0000_0000)),
        ("1.5", Immediate::F64(1.5_f64.to_bits())),
        ("-2.5e-3", Immediate::F64((-2.5e-3_f64).to_bits())),
    ];
    for (text, expected) in cases {
        // A shift into the sign bit is the one value whose sign depends on how it was written.
        let expected = if text == "1 << 63" {
            int(i64::MIN)
        } else {
            expected
        };
        let source = format!(
            ".version 8.0\n.target sm_80\n.global .b64 x = {text};\n.func f() {{ mov.b64 %rd0, {text}; }}"
        );
        let module = parse(&source).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        let [Item::Variable(variable), Item::Function(function)] = &module.items[..] else {
            panic!("{text}: two items")
        };
        assert_eq!(variable.init, Some(Init::Number(expected)), "{text}");
        let Some([Statement::Instruction(instruction)]) = function.body.as_deref() else {
            panic!("{text}: one instruction")
        };
        assert_eq!(
            instruction.operands[1],
            Operand::Immediate(expected),
            "{text}"
        );
    }
}
