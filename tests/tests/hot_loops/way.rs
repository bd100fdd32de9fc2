//! The way round a loop in machine code.

use std::collections::{HashMap, VecDeque};

/// The instructions of one entry, as nvdisasm prints them, and where its labels stand.
pub(crate) struct Code {
    instructions: Vec<String>,
    labels: HashMap<String, usize>,
}

impl Code {
    /// Reads what `nvdisasm -c` says of a cubin, of which only the text of `entry` is kept.
    pub(crate) fn read(sass: &str, entry: &str) -> Self {
        let start = format!(".text.{entry}:");
        let mut code = Self {
            instructions: Vec::new(),
            labels: HashMap::new(),
        };
        let lines = sass.lines().skip_while(|line| line.trim() != start).skip(1);
        for line in lines.take_while(|line| !line.starts_with(".text.")) {
            if let Some(label) = line
                .strip_suffix(':')
                .filter(|label| label.starts_with(".L_"))
            {
                code.labels
                    .insert(label.to_owned(), code.instructions.len());
            } else if let Some((place, text)) = line.trim().split_once("*/")
                && place.starts_with("/*")
                && let Some((text, _)) = text.split_once(';')
            {
                code.instructions.push(text.trim().to_owned());
            }
        }
        code
    }

    /// The shortest way from an instruction back to itself that passes one of each of `marks`: the instructions on it.
    ///
    /// So a wait counts as one that does not have to be repeated, and a branch for the last tiles does not count.
    pub(crate) fn way_round(&self, marks: &[&str]) -> Option<Vec<&str>> {
        let starts = (0..self.instructions.len()).filter(|at| self.marks(*at, marks) & 1 != 0);
        starts
            .filter_map(|start| self.way_back(start, marks))
            .min_by_key(Vec::len)
            .map(|way| way.into_iter().map(|at| &*self.instructions[at]).collect())
    }

    fn way_back(&self, start: usize, marks: &[&str]) -> Option<Vec<usize>> {
        let all = (1_u32 << marks.len()) - 1;
        let first = (start, self.marks(start, marks));
        let mut before = HashMap::from([(first, None)]);
        let mut queue = VecDeque::from([first]);
        while let Some(state) = queue.pop_front() {
            for next in self.next(state.0) {
                if next == start && state.1 == all {
                    let steps = std::iter::successors(Some(state), |state| before[state]);
                    let mut way: Vec<usize> = steps.map(|(at, _)| at).collect();
                    way.reverse();
                    return Some(way);
                }
                let reached = (next, state.1 | self.marks(next, marks));
                if next < self.instructions.len() && !before.contains_key(&reached) {
                    before.insert(reached, Some(state));
                    queue.push_back(reached);
                }
            }
        }
        None
    }

    /// The marks that an instruction bears, a bit each.
    fn marks(&self, at: usize, marks: &[&str]) -> u32 {
        let Some(text) = self.instructions.get(at) else {
            return 0;
        };
        let bears = |mark: &str| mark.split_whitespace().all(|word| text.contains(word));
        (0..marks.len())
            .filter(|bit| bears(marks[*bit]))
            .map(|bit| 1 << bit)
            .sum()
    }

    /// Where control may go from an instruction.
    fn next(&self, at: usize) -> Vec<usize> {
        let text = &*self.instructions[at];
        let (guarded, operation) = match text.split_once(' ') {
            Some((guard, rest)) if guard.starts_with('@') => (true, rest.trim_start()),
            _ => (false, text),
        };
        if operation.starts_with("EXIT") || operation.starts_with("RET") {
            return if guarded { vec![at + 1] } else { Vec::new() };
        }
        if !operation.starts_with("BRA") {
            return vec![at + 1];
        }
        let label = operation
            .split(['`', '(', ')'])
            .find(|word| word.starts_with(".L_"));
        let target = label.map(|label| self.labels[label]);
        // A branch where threads part is taken by those that do, and a uniform predicate stands behind the word.
        let conditional = guarded || operation.starts_with("BRA.DIV") || operation.contains("UP");
        target
            .into_iter()
            .chain(conditional.then_some(at + 1))
            .collect()
    }
}

#[test]
fn the_way_round_leaves_out_what_is_not_on_it() {
    let text = "\
.text.k:\n\
        /*0000*/                   MOV R1, c[0x0][0x28] ;\n\
.L_x_1:\n\
        /*0010*/                   LDS R4, [R2] ;\n\
        /*0020*/              @!P0 BRA `(.L_x_2) ;\n\
        /*0030*/                   IADD3 R5, R5, 0x1, RZ ;\n\
        /*0040*/                   IADD3 R6, R6, 0x1, RZ ;\n\
.L_x_2:\n\
        /*0050*/                   STG [R8], R4 ;\n\
        /*0060*/               @P1 BRA `(.L_x_1) ;\n\
        /*0070*/                   EXIT ;\n";
    let code = Code::read(text, "k");
    let way = code.way_round(&["LDS", "STG"]).expect("a loop");
    assert_eq!(
        way,
        [
            "LDS R4, [R2]",
            "@!P0 BRA `(.L_x_2)",
            "STG [R8], R4",
            "@P1 BRA `(.L_x_1)"
        ]
    );
    assert_eq!(
        code.way_round(&["LDS", "IADD3 R6"]).expect("a loop").len(),
        6
    );
    assert_eq!(code.way_round(&["MOV"]), None);
}
