//! The envelope of an object in protobuf.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding>

use super::TypeMeta;
use prost::Message;

const MAGIC: [u8; 4] = *b"k8s\0";

/// `runtime.Unknown`, without its parts that are always empty.
#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, required, tag = "1")]
    type_meta: UnknownTypeMeta,
}

/// `runtime.TypeMeta`.
#[derive(Clone, PartialEq, Message)]
struct UnknownTypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

/// The field `raw` of `runtime.Unknown`, which holds the object.
const RAW_FIELD: u32 = 2;

/// Wraps an object.
pub(super) fn envelope(type_meta: TypeMeta<'_>, object: &[u8]) -> Vec<u8> {
    let unknown = Unknown {
        type_meta: UnknownTypeMeta {
            api_version: type_meta.api_version.to_owned(),
            kind: type_meta.kind.to_owned(),
        },
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(unknown.encode_to_vec());
    append_field(&mut bytes, RAW_FIELD, object.len());
    bytes.extend_from_slice(object);
    bytes
}

/// Appends what precedes a field of this many bytes.
pub(super) fn append_field(bytes: &mut Vec<u8>, number: u32, length: usize) {
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, bytes);
    prost::encoding::encode_varint(length as u64, bytes);
}
