//! The body of a bulk reply: all rows of a kind as a JSON object.

use super::header;
use crate::hash;
use crate::snapshot::Section;
use std::rc::Rc;

/// All rows of a kind as JSON, with the entity tag.
#[derive(Debug)]
pub struct BulkBody {
    body: Rc<[u8]>,
    etag: String,
}

impl BulkBody {
    pub(crate) fn render(section: Section<'_>) -> Self {
        // Names and values contain no character that JSON escapes, because they were validated when they were read.
        let rows: Vec<_> = section
            .rows()
            .map(|row| format!("    \"{}\": \"{}\"", row.name, header::value(&row)))
            .collect();
        let body: Rc<[u8]> = format!("{{\n{}\n}}\n", rows.join(",\n")).into_bytes().into();
        let etag = format!("\"{:016x}\"", hash::of_bytes(&body));
        Self { body, etag }
    }

    pub(super) fn body(&self) -> Rc<[u8]> {
        self.body.clone()
    }

    pub(crate) fn etag(&self) -> &str {
        &self.etag
    }
}
