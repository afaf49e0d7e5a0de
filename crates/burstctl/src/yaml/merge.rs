//! `<<`: the fields of other objects, filled in where they stand. As in Go's YAML 1.1 the order decides: a merge after
//! a field replaces it.

use super::build::error;
use super::tree::{Key, Mark, SyntaxError, Tree, Value};

const MERGE: &str = "<<";

/// The fields with those of merged objects among them.
pub(super) fn merged(fields: Vec<(Key, Tree)>) -> Result<Vec<(Key, Tree)>, SyntaxError> {
    if !fields.iter().any(|(key, _)| is_merge(key)) {
        return Ok(fields);
    }
    let mut all: Vec<Field> = Vec::new();
    for (key, tree) in fields {
        if is_merge(&key) {
            fill(&mut all, &key, &tree)?;
        } else {
            // A field written here stands in for a merged one, and beside one that was written here, too.
            all.retain(|field| !(field.merged && field.key.name == key.name));
            all.push(Field {
                key,
                tree,
                merged: false,
            });
        }
    }
    Ok(all.into_iter().map(|field| (field.key, field.tree)).collect())
}

/// A list of objects has to be written where it is merged; an alias stands for one object.
pub(super) fn check_alias(key: &Key, alias: &Tree) -> Result<(), SyntaxError> {
    match alias.value {
        Value::Object(_) => Ok(()),
        _ if !is_merge(key) => Ok(()),
        _ => Err(refused(alias.span.start)),
    }
}

struct Field {
    key: Key,
    tree: Tree,
    merged: bool,
}

/// Quoted, it is a key like any other.
fn is_merge(key: &Key) -> bool {
    let width = key.span.end.column.saturating_sub(key.span.start.column);
    key.name == MERGE && width == MERGE.len()
}

fn fill(all: &mut Vec<Field>, key: &Key, tree: &Tree) -> Result<(), SyntaxError> {
    match &tree.value {
        Value::Object(fields) => {
            for (inner, value) in fields {
                all.retain(|field| field.key.name != inner.name);
                let (name, tree) = (inner.name.clone(), value.clone());
                let key = Key { name, span: key.span };
                all.push(Field {
                    key,
                    tree,
                    merged: true,
                });
            }
            Ok(())
        }
        // Earlier objects win, so they come last.
        Value::List(items) => items.iter().rev().try_for_each(|item| match item.value {
            Value::Object(_) => fill(all, key, item),
            _ => Err(refused(item.span.start)),
        }),
        _ => Err(refused(tree.span.start)),
    }
}

fn refused(at: Mark) -> SyntaxError {
    error(at, "`<<` takes an object or a list of objects")
}
