//! Writes nodes as YAML that every reader understands in the same way: in block style, with multi-line text as block
//! scalars. Text is quoted if some reader would take it for a number, a boolean or a date.

use burst_hpa::node::{Key, Node, NodeValue};
use burst_printable::is_printable;

use super::scalar::{self, Scalar};
use crate::printer::escape_workflow_commands;

/// Returns a document that ends in a line break.
#[must_use]
pub fn to_yaml(node: &Node) -> String {
    let mut out = String::new();
    match &node.value {
        NodeValue::Object(fields) if !fields.is_empty() => object(fields, 0, false, &mut out),
        NodeValue::List(items) if !items.is_empty() => list(items, 0, &mut out),
        _ => {
            out.push_str(&flat(node));
            out.push('\n');
        }
    }
    out
}

/// If `inline` is set, the first field continues the current line.
fn object(fields: &[(Key, Node)], indent: usize, inline: bool, out: &mut String) {
    for (index, (Key { name, .. }, node)) in fields.iter().enumerate() {
        if index > 0 || !inline {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(&text(name));
        out.push(':');
        match &node.value {
            NodeValue::Object(fields) if !fields.is_empty() => {
                out.push('\n');
                object(fields, indent + 2, false, out);
            }
            NodeValue::List(items) if !items.is_empty() => {
                out.push('\n');
                list(items, indent, out);
            }
            NodeValue::String(text) if is_lines(text) => {
                out.push(' ');
                lines(text, indent + 2, out);
            }
            _ => {
                out.push(' ');
                out.push_str(&flat(node));
                out.push('\n');
            }
        }
    }
}

fn list(items: &[Node], indent: usize, out: &mut String) {
    for item in items {
        out.push_str(&" ".repeat(indent));
        out.push_str("- ");
        match &item.value {
            NodeValue::Object(fields) if !fields.is_empty() => object(fields, indent + 2, true, out),
            NodeValue::List(items) if !items.is_empty() => {
                out.push('\n');
                list(items, indent + 2, out);
            }
            NodeValue::String(text) if is_lines(text) => lines(text, indent + 2, out),
            _ => {
                out.push_str(&flat(item));
                out.push('\n');
            }
        }
    }
}

/// Returns whether text can be a block scalar: it has several lines, and no reader, editor or CI runner could
/// misinterpret one of them.
fn is_lines(text: &str) -> bool {
    let content = text.strip_suffix('\n').unwrap_or(text);
    let is_ascii = |line: &str| line.chars().all(|character| (' '..='~').contains(&character));
    let plain = |line: &str| line.trim_end() == line && is_ascii(line) && escape_workflow_commands(line) == line;
    let begins = content.starts_with(|first: char| first.is_ascii_graphic());
    content.contains('\n') && begins && !content.ends_with('\n') && content.split('\n').all(plain)
}

fn lines(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
    for line in text.lines() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn flat(node: &Node) -> String {
    match &node.value {
        NodeValue::Null => "null".to_owned(),
        NodeValue::Bool(value) => value.to_string(),
        // Without a fraction this would be read as an integer, and integers have no negative zero.
        NodeValue::Number(text) if text == "-0" => "-0.0".to_owned(),
        NodeValue::Number(text) => text.clone(),
        NodeValue::String(string) => text(string),
        NodeValue::List(_) => "[]".to_owned(),
        NodeValue::Object(_) => "{}".to_owned(),
    }
}

fn text(text: &str) -> String {
    let plain = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/')
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && matches!(scalar::resolve(text), Scalar::Text(_));
    if plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' | '\u{a1}'..='\u{1fff}' | '\u{3041}'..='\u{d7ff}' if is_printable(character) => {
                out.push(character);
            }
            other => out.push_str(&format!("\\U{:08x}", u32::from(other))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::documents;

    fn any_node() -> impl Strategy<Value = Node> {
        let leaf = prop_oneof![
            Just(Node::NULL),
            any::<bool>().prop_map(|value| NodeValue::Bool(value).into()),
            any::<i64>().prop_map(|number| Node::number(number.to_string())),
            Just(Node::number("-0")),
            any::<String>().prop_map(Node::string),
            "[-+.0-9a-zA-Z_~<:# ]{0,6}".prop_map(Node::string),
            "[-a#: \t\n]{0,9}".prop_map(Node::string),
            "a[-a#:|> ]{0,3}\n[ \n]{0,2}[-a#:>%]{0,3}\n?".prop_map(Node::string),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Node::list),
                prop::collection::vec(("[a-z]{1,3}|\\PC{0,4}", inner), 0..4).prop_map(Node::object),
            ]
        })
    }

    #[test]
    fn multi_line_text_is_a_block_scalar() {
        let node = |text: &str| Node::object([("a", Node::string(text))]);
        assert_eq!(
            to_yaml(&node("if x then\n\n  y\nend\n")),
            "a: |\n  if x then\n\n    y\n  end\n"
        );
        assert_eq!(to_yaml(&node("{\n}")), "a: |-\n  {\n  }\n");
        assert_eq!(to_yaml(&node("a \nb\n")), "a: \"a \\nb\\n\"\n");
    }

    proptest! {
        #[test]
        fn written_yaml_reads_back_as_the_same_node(node in any_node()) {
            let text = to_yaml(&node);
            let read = documents(&text).into_iter().next().map(|document| document.content.unwrap());
            prop_assert_eq!(read.unwrap_or(Node::NULL), node, "{}", text);
        }
    }
}
