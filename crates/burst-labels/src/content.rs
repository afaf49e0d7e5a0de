//! The formats of names, as in <https://github.com/kubernetes/apimachinery/tree/v0.36.3/pkg/api/validate/content>.
//! Each function returns the messages of the API server. The list is empty if the text is valid.

const DNS_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_LABEL_LENGTH: usize = 63;
const DNS_SUBDOMAIN_LENGTH: usize = 253;
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_KEY_RULE: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const LABEL_LENGTH: usize = 63;

/// Checks a name that is part of a URL path.
#[must_use]
pub fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .into_iter()
        .filter(|c| name.contains(*c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// Checks a DNS-1123 label.
#[must_use]
pub fn dns_label(name: &str) -> Vec<String> {
    let mut messages = too_long(name, DNS_LABEL_LENGTH, "characters");
    if is_dns_label(name) {
        return messages;
    }
    messages.push(if is_dns_subdomain(name) {
        "must not contain dots".to_owned()
    } else {
        regex(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character",
            DNS_LABEL,
            &["my-name", "123-abc"],
        )
    });
    messages
}

/// Checks a DNS-1123 subdomain.
#[must_use]
pub fn dns_subdomain(name: &str) -> Vec<String> {
    subdomain(name, "characters")
}

/// Checks a subdomain. One of Go's two validators says "characters" and the other "bytes", and both count bytes.
fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut messages = too_long(name, DNS_SUBDOMAIN_LENGTH, unit);
    if !is_dns_subdomain(name) {
        messages.push(regex(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &format!("{DNS_LABEL}(\\.{DNS_LABEL})*"),
            &["example.com"],
        ));
    }
    messages
}

/// Checks the key of a label, also called a qualified name: `name` or `prefix/name`.
#[must_use]
pub fn label_key(key: &str) -> Vec<String> {
    let rule = || regex(LABEL_KEY_RULE, LABEL_KEY, &["MyName", "my.name", "123-abc"]);
    let mut messages = Vec::new();
    let name = match key.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {prefix}", rule())];
        }
        Some(("", name)) => {
            messages.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            messages.extend(
                subdomain(prefix, "bytes")
                    .iter()
                    .map(|message| format!("prefix part {message}")),
            );
            name
        }
        None => key,
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    }
    messages.extend(
        too_long(name, LABEL_LENGTH, "bytes")
            .iter()
            .map(|message| format!("name part {message}")),
    );
    if !is_label_name(name) {
        messages.push(format!("name part {}", rule()));
    }
    messages
}

/// Checks the value of a label, which may be empty.
#[must_use]
pub fn label_value(value: &str) -> Vec<String> {
    let mut messages = too_long(value, LABEL_LENGTH, "bytes");
    if !value.is_empty() && !is_label_name(value) {
        messages.push(regex(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &format!("({LABEL_KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    messages
}

fn is_dns_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns_label)
}

fn is_dns_label(name: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_framed(name, outer, |byte| outer(byte) || byte == b'-')
}

fn is_label_name(name: &str) -> bool {
    is_framed(
        name,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
    )
}

/// Returns whether the text is not empty, begins and ends with an `outer` byte, and has only `inner` bytes.
fn is_framed(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let mut ends = text.bytes().take(1).chain(text.bytes().next_back());
    !text.is_empty() && ends.all(outer) && text.bytes().all(inner)
}

fn too_long(text: &str, most: usize, unit: &str) -> Vec<String> {
    if text.len() > most {
        vec![format!("must be no more than {most} {unit}")]
    } else {
        vec![]
    }
}

fn regex(rule: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{rule} (e.g. {}regex used for validation is '{regex}')",
        examples.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_name_is_checked_and_the_first_and_last_more_strictly() {
        for name in ["a", "0", "a-b", "a.b-c.d"] {
            assert!(dns_subdomain(name).is_empty(), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a..b", "a_b", ".a", "ä"] {
            assert!(!dns_subdomain(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_label_with_dots_has_its_own_message() {
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
    }

    #[test]
    fn a_key_has_at_most_one_slash() {
        assert!(label_key("example.com/my_name").is_empty());
        assert_eq!(label_key("/a"), ["prefix part must be non-empty"]);
        assert_eq!(label_key("a/b/c").len(), 1);
        assert_eq!(label_key("a/").len(), 2);
    }
}
