//! Random values and faults for any field of a mutant.

use burst_hpa::{Node, NodeValue};

use crate::json_text::{number, object, text};
use crate::mutants::Mutants;

impl Mutants {
    pub(crate) fn map(&mut self, keys: &[&str], bad_keys: &[&str], values: &[&str], bad_values: &[&str]) -> Node {
        let count = self.rng.usize(0..3);
        let mut fields: Vec<(String, Node)> = Vec::new();
        for _ in 0..count {
            let key = if self.fault() {
                self.choose(bad_keys)
            } else {
                self.choose(keys)
            };
            let value = self.text(values, bad_values);
            if !fields.iter().any(|(name, _)| name == key) || self.fault() {
                fields.push((key.to_owned(), value));
            }
        }
        Node::object(fields)
    }

    /// An object, with the faults any object can have: a field lost, repeated, unknown, or of another type.
    pub(crate) fn node(&mut self, fields: Vec<(&'static str, Node)>) -> Node {
        let mut out: Vec<(String, Node)> = Vec::new();
        for (name, node) in fields {
            if self.seldom() {
                continue;
            }
            let node = if self.seldom() { self.junk() } else { node };
            if self.seldom() {
                out.push((name.to_owned(), node.clone()));
            }
            out.push((name.to_owned(), node));
        }
        if self.seldom() {
            let name = self.choose(&["foo", "minreplicas", "averageUtilisation", "name", "a.b", ""]);
            let junk = self.junk();
            out.push((name.to_owned(), junk));
        }
        Node::object(out)
    }

    pub(crate) fn junk(&mut self) -> Node {
        let junk = [
            Node::NULL,
            NodeValue::Bool(true).into(),
            number(&7),
            number(&"1.5"),
            text("x"),
            Node::list(vec![]),
            object([]),
        ];
        let nulls = Node::list(vec![Node::NULL]);
        match self.rng.usize(0..=junk.len()) {
            index if index < junk.len() => junk[index].clone(),
            _ => nulls,
        }
    }

    pub(crate) fn text(&mut self, good: &[&str], bad: &[&str]) -> Node {
        text(if !bad.is_empty() && self.fault() {
            self.choose(bad)
        } else {
            self.choose(good)
        })
    }

    pub(crate) fn rarely(&mut self, bad: &str, good: &str) -> Node {
        text(if self.seldom() && self.seldom() { bad } else { good })
    }

    pub(crate) fn integer(&mut self, good: &[i64], bad: &[&str]) -> Node {
        if self.fault() {
            Node::number(self.choose(bad))
        } else {
            number(&self.choose(good))
        }
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())]
    }

    pub(crate) fn fault(&mut self) -> bool {
        self.chance(self.faults)
    }

    /// For faults that hide others: an HPA that cannot be decoded is not validated.
    pub(crate) fn seldom(&mut self) -> bool {
        self.fault() && self.chance(12)
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }
}
