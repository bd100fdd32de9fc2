//! Looking things up in a module, and keeping only what one entry needs.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use crate::ast::{AddressBase, Function, Init, Item, Module, Operand, Statement, Variable};

/// An entry that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no entry `{name}`, the module has {}", listed(entries))]
pub struct UnknownEntry {
    /// The name asked for.
    pub name: String,
    /// The entries there are.
    pub entries: Vec<String>,
}

fn listed(entries: &[String]) -> String {
    match entries {
        [] => "no entry at all".to_owned(),
        _ => entries
            .iter()
            .map(|entry| format!("`{entry}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

impl Module {
    /// All functions, entries included, in order.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
    }

    /// All variables of module scope, in order.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    /// The entries that have a body, in order.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions()
            .filter(|function| function.is_entry && function.body.is_some())
    }

    /// An entry by name.
    ///
    /// # Errors
    /// No entry has this name; the error lists those there are.
    pub fn entry(&self, name: &str) -> Result<&Function, UnknownEntry> {
        self.entries()
            .find(|entry| entry.name == name)
            .ok_or_else(|| UnknownEntry {
                name: name.to_owned(),
                entries: self.entries().map(|entry| entry.name.clone()).collect(),
            })
    }

    /// Drops every function and variable that the entry does not reach, through calls, addresses and initialisers.
    ///
    /// Debug sections go too, as they name labels of what is dropped; `.debug_str` stays, because `.loc` refers to it.
    /// With them goes the target's word `debug`, by which the assembler would ask for them.
    ///
    /// # Errors
    /// No entry has this name; the module is then as before.
    pub fn retain_entry(&mut self, name: &str) -> Result<(), UnknownEntry> {
        self.entry(name)?;
        let reached = self.reached_from(name);
        let mut debug_dropped = false;
        self.items.retain(|item| match item {
            Item::Variable(variable) => reached.contains(&variable.name),
            Item::Function(function) => reached.contains(&function.name),
            Item::File { .. } => true,
            Item::Other { text, .. } => match (alias(text), section_name(text)) {
                (Some((from, _)), _) => reached.contains(from),
                (_, Some(section)) if section != ".debug_str" => {
                    debug_dropped = true;
                    false
                }
                _ => true,
            },
        });
        if debug_dropped {
            // The assembler insists on the sections where the target promises them.
            self.target.retain(|word| word != "debug");
        }
        Ok(())
    }

    /// The names of everything that an item reaches, itself included.
    fn reached_from(&self, root: &str) -> HashSet<String> {
        // Declaration and definition bear one name, so a name can stand for several items.
        let mut items: HashMap<&str, Vec<&Item>> = HashMap::new();
        for item in &self.items {
            let name = match item {
                Item::Variable(variable) => variable.name.as_str(),
                Item::Function(function) => function.name.as_str(),
                Item::Other { text, .. } => match alias(text) {
                    Some((from, _)) => from,
                    None => continue,
                },
                Item::File { .. } => continue,
            };
            items.entry(name).or_default().push(item);
        }
        let mut reached = HashSet::from([root.to_owned()]);
        let mut open = vec![root];
        while let Some(name) = open.pop() {
            for item in items.get(name).into_iter().flatten() {
                names_in_item(item, &mut |name| {
                    if items.contains_key(name) && !reached.contains(name) {
                        reached.insert(name.to_owned());
                        open.push(name);
                    }
                });
            }
        }
        reached
    }
}

/// The two names of `.alias from, to;`.
fn alias(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text
        .strip_prefix(".alias")?
        .trim_end_matches(';')
        .split_once(',')?;
    Some((from.trim(), to.trim()))
}

fn section_name(text: &str) -> Option<&str> {
    text.strip_prefix(".section")?
        .split([' ', '\t', '\r', '\n', '{'])
        .find(|word| !word.is_empty())
}

fn names_in_item<'a>(item: &'a Item, found: &mut dyn FnMut(&'a str)) {
    match item {
        Item::Variable(variable) => names_in_variable(variable, found),
        Item::Function(function) => {
            names_in_body(function.body.as_deref().unwrap_or_default(), found)
        }
        Item::Other { text, .. } => {
            if let Some((_, to)) = alias(text) {
                found(to);
            }
        }
        Item::File { .. } => {}
    }
}

fn names_in_variable<'a>(variable: &'a Variable, found: &mut dyn FnMut(&'a str)) {
    if let Some(init) = &variable.init {
        names_in_init(init, found);
    }
}

fn names_in_init<'a>(init: &'a Init, found: &mut dyn FnMut(&'a str)) {
    match init {
        Init::Number(_) => {}
        Init::Symbol { name, .. } => found(name),
        Init::List(list) => list.iter().for_each(|init| names_in_init(init, found)),
    }
}

fn names_in_body<'a>(body: &'a [Statement], found: &mut dyn FnMut(&'a str)) {
    for statement in body {
        match statement {
            Statement::Variable(variable) => names_in_variable(variable, found),
            Statement::Instruction(instruction) => instruction
                .operands
                .iter()
                .for_each(|operand| names_in_operand(operand, found)),
            Statement::Block(inner) => names_in_body(inner, found),
            _ => {}
        }
    }
}

fn names_in_operand<'a>(operand: &'a Operand, found: &mut dyn FnMut(&'a str)) {
    match operand {
        Operand::Name { name, .. } | Operand::Offset { name, .. } => found(name),
        Operand::Address(address) => {
            if let AddressBase::Name(name) = &address.base {
                found(name);
            }
        }
        Operand::Vector(elements) | Operand::List(elements) => elements
            .iter()
            .for_each(|element| names_in_operand(element, found)),
        Operand::Pair(..) | Operand::Not(_) | Operand::Immediate(_) | Operand::Sink => {}
    }
}
