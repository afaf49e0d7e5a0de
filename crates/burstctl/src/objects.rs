//! Kubernetes objects and their positions in files.

use burst_hpa::node::{Key, Node, NodeValue, Span};

/// An object and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The index of its source.
    pub source: usize,
    /// The number of its document, from 1.
    pub document: usize,
    /// The object.
    pub tree: Node,
}

impl Object {
    /// `kind`, or nothing.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.tree.text("kind").unwrap_or_default()
    }

    /// `apiVersion`, or nothing.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.tree.text("apiVersion").unwrap_or_default()
    }

    /// Whether it is an HPA of any version.
    #[must_use]
    pub fn is_hpa(&self) -> bool {
        self.kind() == "HorizontalPodAutoscaler" && self.group() == "autoscaling"
    }

    /// The group of `apiVersion`; empty for Kubernetes' oldest, `v1`.
    #[must_use]
    pub fn group(&self) -> &str {
        group(self.api_version())
    }

    /// `metadata.name`, or nothing.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata("name").unwrap_or_default()
    }

    /// `metadata.namespace`; the default is `default`, as in kubectl.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata("namespace").unwrap_or("default")
    }

    /// `namespace/name`
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.namespace(), self.name())
    }

    /// Returns why kubectl refuses the document, if it has no kind or is not an object.
    #[must_use]
    pub fn invalid_reason(&self) -> Option<String> {
        if !matches!(self.tree.value, NodeValue::Object(_)) {
            return Some("expected an object".to_owned());
        }
        // The API server could take them from the request path; kubectl cannot.
        let required = [("apiVersion", self.api_version()), ("kind", self.kind())];
        let (missing, _) = required.into_iter().find(|(_, text)| text.is_empty())?;
        Some(format!("an object without {missing}, so its type is unknown"))
    }

    fn metadata(&self, field: &str) -> Option<&str> {
        self.tree.field("metadata")?.text(field)
    }
}

/// The group of an `apiVersion`.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the objects of a document: the items of a list, or the document itself.
pub(crate) fn in_document(source: usize, document: usize, tree: Node) -> Vec<Object> {
    let mut objects = Vec::new();
    flatten_list(tree, &mut |tree| objects.push(Object { source, document, tree }));
    objects
}

/// Expands a list. A kind that ends in `List` without items, such as a custom `AllowList`, is one object.
fn flatten_list(tree: Node, take: &mut dyn FnMut(Node)) {
    let kind = tree.text("kind").unwrap_or_default().to_owned();
    let items = tree.field("items").map(|items| &items.value);
    let (Some(item_kind), Some(NodeValue::List(_) | NodeValue::Null)) = (kind.strip_suffix("List"), items) else {
        return take(tree);
    };
    let api_version = tree.text("apiVersion").unwrap_or_default().to_owned();
    let span = tree.span;
    let NodeValue::Object(fields) = tree.value else { return };
    let Some(items) = fields.into_iter().rev().find(|(key, _)| key.name == "items") else {
        return;
    };
    if let NodeValue::List(items) = items.1.value {
        for item in items {
            flatten_list(with_type_meta(item, item_kind, &api_version, span), take);
        }
    }
}

/// Sets the kind and version of an item from those of its typed list.
fn with_type_meta(mut tree: Node, kind: &str, api_version: &str, span: Option<Span>) -> Node {
    let untyped = tree.field("kind").is_none() && tree.field("apiVersion").is_none() && !kind.is_empty();
    if let (NodeValue::Object(fields), true) = (&mut tree.value, untyped) {
        for (name, value) in [("kind", kind), ("apiVersion", api_version)] {
            let name = name.to_owned();
            let value = NodeValue::String(value.to_owned());
            fields.push((Key { name, span }, Node { value, span }));
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    #[test]
    fn lists_of_any_kind_are_expanded() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- kind: HorizontalPodAutoscalerList\n  apiVersion: autoscaling/v2\n  \
                    items:\n  - metadata: {name: a}\n  - metadata: {name: b, namespace: shop}\n- kind: Service\n";
        let tree = documents(text).remove(0).content.unwrap();
        let objects = in_document(0, 1, tree);
        let titles: Vec<_> = objects.iter().map(|object| (object.is_hpa(), object.title())).collect();
        let expected = [(true, "default/a"), (true, "shop/b"), (false, "default/")];
        assert_eq!(titles, expected.map(|(hpa, title)| (hpa, title.to_owned())));
    }

    #[test]
    fn an_object_without_items_is_one_object() {
        for (text, kinds) in [
            ("kind: AllowList\nspec: {}\n", &["AllowList"] as &[_]),
            ("kind: List\nitems: 5\n", &["List"]),
            ("kind: List\nitems: null\n", &[]),
            ("kind: List\nitems: []\n", &[]),
        ] {
            let objects = in_document(0, 1, documents(text).remove(0).content.unwrap());
            assert_eq!(objects.iter().map(Object::kind).collect::<Vec<_>>(), kinds, "{text}");
        }
    }
}
