//! Writes a list item by item, so that no more than one item is held beside the body.

use super::{Encoding, TypeMeta, go_json, protobuf};
use prost::Message;
use serde::Serialize;

/// The field of a list that holds its items, in protobuf. The field before it is the metadata.
const METADATA_FIELD: u32 = 1;
const ITEMS_FIELD: u32 = 2;

/// A list that items are appended to.
#[derive(Debug)]
pub(crate) struct ListBody<'a> {
    encoding: Encoding,
    type_meta: TypeMeta<'a>,
    /// JSON for [`Encoding::Yaml`] too, and the object without its envelope for [`Encoding::Protobuf`].
    bytes: Vec<u8>,
    is_empty: bool,
}

impl<'a> ListBody<'a> {
    /// Starts a list with this metadata and capacity for some items.
    pub(crate) fn new(
        encoding: Encoding,
        type_meta: TypeMeta<'a>,
        metadata: &(impl Message + Serialize),
        items: usize,
    ) -> Self {
        let mut bytes = Vec::with_capacity(256 + items * 288);
        if encoding == Encoding::Protobuf {
            append_message(&mut bytes, METADATA_FIELD, metadata);
        } else {
            start_json(&mut bytes, type_meta, metadata);
            bytes.extend_from_slice(br#","items":["#);
        }
        Self {
            encoding,
            type_meta,
            bytes,
            is_empty: true,
        }
    }

    /// Starts a `Table` with these columns. It has no protobuf form.
    pub(crate) fn table(
        encoding: Encoding,
        type_meta: TypeMeta<'a>,
        metadata: &impl Serialize,
        columns: &impl Serialize,
        rows: usize,
    ) -> Self {
        let mut bytes = Vec::with_capacity(512 + rows * 288);
        start_json(&mut bytes, type_meta, metadata);
        bytes.extend_from_slice(br#","columnDefinitions":"#);
        go_json::append(&mut bytes, columns);
        bytes.extend_from_slice(br#","rows":["#);
        Self {
            encoding,
            type_meta,
            bytes,
            is_empty: true,
        }
    }

    pub(crate) fn push(&mut self, item: &(impl Message + Serialize)) {
        if self.encoding == Encoding::Protobuf {
            append_message(&mut self.bytes, ITEMS_FIELD, item);
        } else {
            self.push_row(item);
        }
    }

    /// Appends a row of a `Table`.
    pub(crate) fn push_row(&mut self, row: &impl Serialize) {
        if !self.is_empty {
            self.bytes.push(b',');
        }
        self.is_empty = false;
        go_json::append(&mut self.bytes, row);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.encoding == Encoding::Protobuf {
            return protobuf::envelope(self.type_meta, &self.bytes);
        }
        self.bytes.extend_from_slice(b"]}");
        self.encoding.finish_json(self.bytes)
    }
}

fn start_json(bytes: &mut Vec<u8>, type_meta: TypeMeta<'_>, metadata: &impl Serialize) {
    go_json::append_type_meta(bytes, type_meta);
    bytes.extend_from_slice(br#","metadata":"#);
    go_json::append(bytes, metadata);
}

fn append_message(bytes: &mut Vec<u8>, number: u32, message: &impl Message) {
    protobuf::append_field(bytes, number, message.encoded_len());
    message.encode_raw(bytes);
}
