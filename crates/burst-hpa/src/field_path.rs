//! Field paths as the API server writes them: `spec.metrics[0].resource.name`.

use std::fmt;

/// A path that is only written out for an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Segment<'a> {
    Root,
    Field(&'a str),
    Item(usize),
}

impl<'a> FieldPath<'a> {
    pub(crate) const ROOT: FieldPath<'static> = FieldPath {
        parent: None,
        segment: Segment::Root,
    };

    pub(crate) fn field(&'a self, name: &'a str) -> FieldPath<'a> {
        FieldPath {
            parent: Some(self),
            segment: Segment::Field(name),
        }
    }

    pub(crate) fn item(&'a self, index: usize) -> FieldPath<'a> {
        FieldPath {
            parent: Some(self),
            segment: Segment::Item(index),
        }
    }

    fn is_root(&self) -> bool {
        matches!(self.segment, Segment::Root)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match (self.segment, self.parent) {
            (Segment::Root, _) => Ok(()),
            (Segment::Field(name), Some(parent)) if !parent.is_root() => write!(f, ".{name}"),
            (Segment::Field(name), _) => f.write_str(name),
            (Segment::Item(index), _) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FieldPath;

    #[test]
    fn a_path_reads_as_the_apiserver_writes_it() {
        let spec = FieldPath::ROOT.field("spec");
        let metrics = spec.field("metrics");
        let second = metrics.item(1);
        assert_eq!(second.field("type").to_string(), "spec.metrics[1].type");
    }
}
