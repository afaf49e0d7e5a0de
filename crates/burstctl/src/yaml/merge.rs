//! The fields of an object, and `<<`, which adds the fields of other objects. As in Go's YAML 1.1 reader, order
//! matters: a merge replaces the fields before it.

use burst_hpa::node::{Key, Mark, Node, NodeValue, Span};

use super::document::{SyntaxError, error};

/// The fields read so far.
#[derive(Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
    has_merged: bool,
}

struct Field {
    key: Key,
    tree: Node,
    is_merged: bool,
}

impl Fields {
    /// Adds a field. It replaces a merged field with the same name. It does not replace a written one, which becomes a
    /// duplicate.
    pub(super) fn insert(&mut self, key: Key, tree: Node) {
        if self.has_merged {
            self.fields
                .retain(|field| !(field.is_merged && field.key.name == key.name));
        }
        self.fields.push(Field {
            key,
            tree,
            is_merged: false,
        });
    }

    /// Adds the fields of the value of `<<`. They replace all fields with the same names.
    ///
    /// # Errors
    /// Returns an error if the value is neither an object nor a list of objects.
    pub(super) fn merge(&mut self, merge_key: Span, value: Node) -> Result<(), SyntaxError> {
        match value.value {
            NodeValue::Object(fields) => self.merge_object(merge_key, fields),
            NodeValue::List(items) => {
                // Earlier objects win, so they come last.
                for item in items.into_iter().rev() {
                    let NodeValue::Object(fields) = item.value else {
                        return Err(refused(item.span().start));
                    };
                    self.merge_object(merge_key, fields);
                }
            }
            _ => return Err(refused(value.span().start)),
        }
        Ok(())
    }

    /// Checks an alias that is the value of `<<`. A list of objects cannot be an alias there.
    pub(super) fn check_merged_alias(alias: &Node) -> Result<(), SyntaxError> {
        match alias.value {
            NodeValue::Object(_) => Ok(()),
            _ => Err(refused(alias.span().start)),
        }
    }

    pub(super) fn into_vec(self) -> Vec<(Key, Node)> {
        self.fields.into_iter().map(|field| (field.key, field.tree)).collect()
    }

    fn merge_object(&mut self, merge_key: Span, fields: Vec<(Key, Node)>) {
        self.has_merged = true;
        for (Key { name, .. }, tree) in fields {
            self.fields.retain(|field| field.key.name != name);
            let key = Key {
                name,
                span: Some(merge_key),
            };
            self.fields.push(Field {
                key,
                tree,
                is_merged: true,
            });
        }
    }
}

fn refused(at: Mark) -> SyntaxError {
    error(at, "`<<` takes an object or a list of objects")
}
