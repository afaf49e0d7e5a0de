use super::*;
use crate::objects::{ListMeta, Quantity, Status};

const STATUS: TypeMeta<'_> = TypeMeta::new("Status", "v1");

fn status() -> Status {
    Status {
        status: "Failure".to_owned(),
        message: "a: b".to_owned(),
        code: 404,
        ..Status::default()
    }
}

#[test]
fn the_kind_comes_first_in_json() {
    let json = Encoding::Json.encode(STATUS, &status());
    let expected =
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a: b","code":404}"#;
    assert_eq!(String::from_utf8(json).unwrap(), format!("{expected}\n"));
}

#[test]
fn yaml_quotes_what_is_no_plain_text() {
    let yaml = Encoding::Yaml.encode(STATUS, &status());
    let yaml = String::from_utf8(yaml).unwrap();
    assert_eq!(
        yaml,
        "kind: Status\napiVersion: v1\nmetadata: {}\nstatus: Failure\nmessage: \"a: b\"\ncode: 404\n"
    );
}

#[test]
fn protobuf_has_the_prefix_and_the_kind_in_front_of_the_object() {
    let bytes = Encoding::Protobuf.encode(STATUS, &status());
    let envelope = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12";
    assert_eq!(bytes.get(..envelope.len()), Some(&envelope[..]));
    let object = &bytes[envelope.len() + 1..];
    assert_eq!(usize::from(bytes[envelope.len()]), object.len());
    assert_eq!(Status::decode(object), Ok(status()));
}

#[test]
fn a_list_is_the_same_in_one_piece_and_item_by_item() {
    for encoding in Encoding::ALL {
        let metadata = ListMeta {
            resource_version: "7".to_owned(),
        };
        let mut body = ListBody::new(encoding, STATUS, &metadata, 2);
        for text in ["1", "a&b"] {
            body.push(&Quantity { text: text.to_owned() });
        }
        let expected: &[u8] = match encoding {
            Encoding::Json => {
                b"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[\"1\",\"a\\u0026b\"]}\n"
            }
            Encoding::Yaml => b"kind: Status\napiVersion: v1\nmetadata:\n  resourceVersion: \"7\"\nitems:\n- \"1\"\n- a&b\n",
            Encoding::Protobuf => {
                b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x11\x0a\x03\x12\x017\x12\x03\x0a\x011\x12\x05\x0a\x03a&b"
            }
        };
        assert_eq!(
            String::from_utf8_lossy(&body.finish()),
            String::from_utf8_lossy(expected),
            "{encoding:?}"
        );
    }
}
