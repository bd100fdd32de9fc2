//! The language of the scripts.
//!
//! A file holds cases; a case starts with `== claim` and a line `expect: names` (or `expect: clean`).
//! Then comes one instruction a line: who, verb, arguments. `#` starts a comment.
//!
//! Who: `*` all warps of the block, `w1` a warp, `w1.3` a lane, `w1.0-15` lanes, `block N` sets the number of threads.
//! Address: `64`, `64+4t` (four bytes a thread of the block), `64+4l` (a lane), `64-4t`; `0|512+4t` alternates with the iterations of a loop.
//! `loop N` … `end` repeats what stands between.
//! A verb acts for each warp in turn; `bar` of all warps also completes. `cluster N` gives several blocks, whose warps are numbered through;
//! `ld@1` names the shared memory of rank 1. `grid N` gives blocks that are checked apart: `1w0` is warp 0 of block 1.

use std::sync::Arc;

use crate::check::{Checker, Listed, Listing, Policy};
use crate::event::{
    Access, AccessKind, BarrierRole, Copy, CopyId, CopyKind, ElementCopies, Fence, FenceSpace,
    Groups, MbarrierOp, Monitor, Ordering, Scope, Site, Window,
};
use crate::finding::Finding;
use crate::launch::Dim3;

/// One case.
pub(super) struct Script {
    /// What it shows.
    pub(super) claim: String,
    /// Names of all findings, sorted; advisories have a `~` in front.
    pub(super) expected: Vec<&'static str>,
    threads: u32,
    cluster: u32,
    grid: u32,
    lines: Vec<Line>,
}

#[derive(Clone)]
struct Line {
    /// Its number in the case, and the iteration of the loop around it.
    pc: u32,
    iteration: usize,
    /// The group of blocks it acts in.
    group: usize,
    warps: Vec<(u32, u32)>,
    verb: String,
    words: Vec<String>,
    all: bool,
}

impl Script {
    /// All cases of a file.
    pub(super) fn parse_all(text: &'static str) -> Vec<Self> {
        text.split("\n== ")
            .skip(1)
            .map(|case| {
                let mut lines = case.lines();
                let claim = lines.next().expect("a claim").to_owned();
                let expect = lines
                    .next()
                    .and_then(|line| line.strip_prefix("expect: "))
                    .unwrap_or_else(|| panic!("{claim}: no `expect:` line"));
                let mut expected: Vec<_> = expect
                    .split_whitespace()
                    .filter(|&name| name != "clean")
                    .collect();
                expected.sort_unstable();
                let mut script = Self {
                    claim,
                    expected,
                    threads: 64,
                    cluster: 1,
                    grid: 1,
                    lines: Vec::new(),
                };
                let mut start = None;
                for (pc, line) in lines.enumerate() {
                    let words: Vec<_> = line
                        .split('#')
                        .next()
                        .unwrap_or_default()
                        .split_whitespace()
                        .collect();
                    match words.as_slice() {
                        ["loop", count] => start = Some((script.lines.len(), number(count))),
                        ["end"] => {
                            let (from, count) = start.take().expect("an `end` has its `loop`");
                            let body = script.lines.split_off(from);
                            for iteration in 0..count as usize {
                                script.lines.extend(
                                    body.iter().cloned().map(|line| Line { iteration, ..line }),
                                );
                            }
                        }
                        words => script.line(pc as u32, words),
                    }
                }
                script
            })
            .collect()
    }

    fn line(&mut self, pc: u32, words: &[&str]) {
        match words {
            [] => {}
            ["block", count] => self.threads = number(count) as u32,
            ["grid", count] => self.grid = number(count) as u32,
            ["cluster", count] => self.cluster = number(count) as u32,
            [who, verb, rest @ ..] => {
                let line = Line {
                    pc,
                    iteration: 0,
                    group: who.split_once('w').map_or(0, |(group, _)| {
                        if group.is_empty() {
                            0
                        } else {
                            number(group) as usize
                        }
                    }),
                    warps: self.who(who.trim_start_matches(|c: char| c.is_ascii_digit())),
                    verb: (*verb).to_owned(),
                    words: rest.iter().map(|&word| word.to_owned()).collect(),
                    all: *who == "*",
                };
                self.lines.push(line);
            }
            _ => panic!("{}: cannot read `{words:?}`", self.claim),
        }
    }

    fn who(&self, who: &str) -> Vec<(u32, u32)> {
        let warps = self.threads.div_ceil(32);
        let full = |warp: u32| match self.threads - warp % warps * 32 {
            count @ 0..32 => (1 << count) - 1,
            _ => !0u32,
        };
        if who == "*" {
            return (0..warps * self.cluster)
                .map(|warp| (warp, full(warp)))
                .collect();
        }
        let who = who.strip_prefix('w').expect("a warp");
        match who.split_once('.') {
            None => {
                let warp = number(who) as u32;
                vec![(warp, full(warp))]
            }
            Some((warp, lanes)) => {
                let (from, to) = lanes.split_once('-').unwrap_or((lanes, lanes));
                let (from, to) = (number(from), number(to));
                let mask = (from..=to).fold(0, |mask, lane| mask | 1 << lane);
                vec![(number(warp) as u32, mask)]
            }
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// The addresses that an address term gives the lanes of a warp in an iteration.
fn addresses(term: &str, warp: u32, iteration: usize) -> [u64; 32] {
    let (base, step, sign) = match term.find(['+', '-']) {
        None => (term, "0l", 1),
        Some(at) => (
            &term[..at],
            &term[at + 1..],
            if term.as_bytes()[at] == b'-' { -1 } else { 1 },
        ),
    };
    let bases: Vec<_> = base.split('|').map(number).collect();
    let base = bases[iteration % bases.len()] as i64;
    let (step, unit) = step.split_at(step.len() - 1);
    let step = sign * number(step) as i64;
    std::array::from_fn(|lane| {
        let index = match unit {
            "t" => warp as i64 * 32 + lane as i64,
            "l" => lane as i64,
            _ => panic!("`{term}` is no address"),
        };
        (base + step * index) as u64
    })
}

/// Plays a script to a monitor, and returns what the checker says.
pub(super) fn run(script: &Script) -> Vec<Finding> {
    let listing = Listing {
        instructions: (0..1 + script.lines.iter().map(|line| line.pc).max().unwrap_or(0))
            .map(|pc| Listed {
                line: pc + 1,
                mnemonic: script
                    .lines
                    .iter()
                    .find(|line| line.pc == pc)
                    .map_or_else(String::new, |line| line.verb.clone()),
                source: None,
            })
            .collect(),
        shared: vec![("tile".to_owned(), 0..4096)],
        async_proxy: script
            .lines
            .iter()
            .any(|line| line.verb.starts_with("bulk")),
    };
    let cluster = Dim3::from(script.cluster);
    let grid = Dim3::from(script.cluster * script.grid);
    let checker = Arc::new(Checker::new(
        listing,
        grid,
        script.threads.into(),
        cluster,
        Policy::default(),
    ));
    let mut monitors: Vec<_> = (0..script.grid).map(|group| checker.group(group)).collect();
    let mut next = CopyId(0);
    for line in &script.lines {
        let monitor = &mut monitors[line.group];
        for &(warp, mask) in &line.warps {
            let site = Site {
                execution: 0,
                pc: line.pc,
                warp,
                mask,
            };
            step(monitor, site, line, &mut next);
        }
        if line.verb == "bar" && line.all {
            monitor.barrier_complete(line.words.first().map_or(0, |id| number(id) as u32));
        }
    }
    let reports = monitors
        .into_iter()
        .map(|monitor| monitor.finish())
        .collect();
    checker.findings(reports)
}

fn step<M: Monitor>(monitor: &mut M, site: Site, line: &Line, next: &mut CopyId) {
    let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
    let (verb, rank) = line.verb.split_once('@').unwrap_or((&line.verb, "0"));
    let shared = Window::Shared {
        rank: number(rank) as u16,
    };
    let stem = verb.split('.').next().unwrap_or_default();
    let (ordering, scope) = strength(verb);
    let place = |term: &str| addresses(term, site.warp, line.iteration);
    let named = |name: &str| {
        words
            .iter()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let access = |monitor: &mut M, kind: AccessKind, window: Window| {
        let access = Access {
            window,
            kind,
            ordering: ordering.unwrap_or(Ordering::Weak),
            scope,
            bytes: number(words[1]) as u32,
            addresses: &place(words[0]),
        };
        monitor.access(site, &access);
    };
    let object = |monitor: &mut M, op: MbarrierOp| {
        for lane in (0..32).filter(|lane| site.mask >> lane & 1 == 1) {
            monitor.mbarrier(site, lane, (shared, number(words[0])), op);
        }
    };
    match (stem, words.as_slice()) {
        ("ld", [_, _]) => access(monitor, AccessKind::Read, shared),
        ("st", [_, _]) => access(monitor, AccessKind::Write, shared),
        ("atom", [_, _]) => access(monitor, AccessKind::Atomic, shared),
        ("red", [_, _]) => access(monitor, AccessKind::Reduction, shared),
        ("gld", [_, _]) => access(monitor, AccessKind::Read, Window::Global),
        ("gst", [_, _]) => access(monitor, AccessKind::Write, Window::Global),
        ("gatom", [_, _]) => access(monitor, AccessKind::Atomic, Window::Global),
        ("copy", [into, bytes, ..]) => {
            let bytes = number(bytes) as u32;
            let read = named("reads").map_or(bytes, |reads| number(reads) as u32);
            monitor.issue_elements(
                site,
                &ElementCopies {
                    first: *next,
                    rank: 0,
                    bytes,
                    sources: &place(named("from").unwrap_or("1048576+16t")),
                    source_bytes: &[read; 32],
                    destinations: &place(into),
                },
            );
            next.0 += site.mask.count_ones();
        }
        ("bulk", [into, bytes, ..]) | ("bulkst", [into, bytes, ..]) => {
            let load = stem == "bulk";
            let here = place(into);
            let there = place(named(if load { "from" } else { "to" }).unwrap_or("2097152"));
            for lane in (0..32).filter(|lane| site.mask >> lane & 1 == 1) {
                let (here, there) = (
                    (shared, here[lane as usize]),
                    (Window::Global, there[lane as usize]),
                );
                let copy = Copy {
                    id: *next,
                    lane,
                    kind: if load {
                        CopyKind::BulkLoad
                    } else {
                        CopyKind::BulkStore
                    },
                    source: Some(if load { there } else { here }),
                    source_bytes: number(bytes) as u32,
                    destination: if load { here } else { there },
                    bytes: number(bytes) as u32,
                    mbarrier: named("on").map(|offset| (shared, number(offset))),
                    reduces: words.contains(&"reduces"),
                };
                monitor.issue(site, &copy);
                next.0 += 1;
            }
        }
        ("commit", []) => monitor.commit(site, Groups::Element),
        ("wait", ["all"]) => monitor.wait(site, Groups::Element, None),
        ("wait", [pending]) => monitor.wait(site, Groups::Element, Some(number(pending) as u32)),
        ("bulkcommit", []) => monitor.commit(site, Groups::Bulk { read: false }),
        ("bulkwait", [pending]) => {
            let read = verb.ends_with(".read");
            monitor.wait(site, Groups::Bulk { read }, Some(number(pending) as u32));
        }
        ("bar", rest) => {
            let id = rest.first().map_or(0, |id| number(id) as u32);
            let role = if verb.ends_with("arrive") {
                BarrierRole::Arrive
            } else {
                BarrierRole::Sync
            };
            monitor.barrier_arrive(site, id, role, 0);
        }
        ("complete", [id]) => monitor.barrier_complete(number(id) as u32),
        ("warpsync", []) => monitor.warp_sync(site),
        ("exit", []) => monitor.exit(site),
        ("stuck", []) => monitor.stuck(),
        ("clusterarrive", []) => {
            monitor.cluster_arrive(site, ordering.unwrap_or(Ordering::Release));
        }
        ("clusterwait", []) => monitor.cluster_wait(site, Ordering::Acquire),
        ("fence", [kind]) => monitor.fence(site, fence(kind, scope)),
        ("init", [_, count]) => object(monitor, MbarrierOp::Init(number(count) as u32)),
        ("inval", [_]) => object(monitor, MbarrierOp::Inval),
        ("arrive", [_, ..]) => object(
            monitor,
            MbarrierOp::Arrive {
                count: 1,
                expect_tx: named("tx").map_or(0, |bytes| number(bytes) as u32),
                drop: false,
                ordering: ordering.unwrap_or(Ordering::Release),
                scope,
            },
        ),
        ("expect", [_, bytes]) => object(monitor, MbarrierOp::ExpectTx(number(bytes) as u32)),
        ("copyarrive", [_]) => {
            let noinc = verb.ends_with(".noinc");
            object(monitor, MbarrierOp::CopyArrive { noinc });
        }
        ("waited", [_, phase]) => object(
            monitor,
            MbarrierOp::WaitDone {
                phase: (*phase != "-").then(|| number(phase)),
                ordering: ordering.unwrap_or(Ordering::Acquire),
                scope,
            },
        ),
        ("phase", [offset, phase]) => {
            monitor.mbarrier_complete((shared, number(offset)), number(phase));
        }
        _ => panic!("cannot play `{} {}`", line.verb, line.words.join(" ")),
    }
}

/// Ordering and scope from the words of a verb.
fn strength(verb: &str) -> (Option<Ordering>, Scope) {
    let mut ordering = None;
    let mut scope = Scope::Gpu;
    for part in verb.split('.').skip(1) {
        match part {
            "relaxed" => ordering = Some(Ordering::Relaxed),
            "acquire" => ordering = Some(Ordering::Acquire),
            "release" => ordering = Some(Ordering::Release),
            "acqrel" => ordering = Some(Ordering::AcqRel),
            "cta" => scope = Scope::Cta,
            "cluster" => scope = Scope::Cluster,
            "arrive" | "read" | "noinc" => {}
            other => panic!("`{other}` is no part of `{verb}`"),
        }
    }
    (ordering, scope)
}

fn fence(kind: &str, scope: Scope) -> Fence {
    match kind {
        "acqrel" => Fence::Memory(Ordering::AcqRel, scope),
        "proxy" => Fence::ProxyAsync(None),
        "proxy.global" => Fence::ProxyAsync(Some(FenceSpace::Global)),
        "proxy.shared" => Fence::ProxyAsync(Some(FenceSpace::SharedCta)),
        "init" => Fence::MbarrierInit,
        other => panic!("`{other}` is no fence"),
    }
}
