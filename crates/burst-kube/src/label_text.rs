//! Labels as one string, `key=value,key=value`, sorted by key. It is small in shared data and needs no parsing. Neither
//! keys nor values contain a comma or an equals sign, so nothing is escaped.

use burst_labels::content;
use std::collections::BTreeMap;

/// Labels as a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelText<'a>(pub &'a str);

impl<'a> LabelText<'a> {
    /// Iterates over the labels in the order of the string.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.split(',').filter_map(|label| label.split_once('='))
    }

    /// Returns the value of a label, or the first one if the key occurs more than once.
    #[must_use]
    pub fn value(self, key: &str) -> Option<&'a str> {
        self.iter().find(|(own, _)| *own == key).map(|(_, value)| value)
    }
}

/// Writes labels as a string, without labels that the API server does not accept.
#[must_use]
pub fn write<T: AsRef<str>>(labels: &BTreeMap<T, T>) -> Box<str> {
    let mut text = String::new();
    for (key, value) in labels {
        let (key, value) = (key.as_ref(), value.as_ref());
        if content::label_key(key).is_empty() && content::label_value(value).is_empty() {
            push(&mut text, key, value);
        }
    }
    text.into()
}

/// Appends a label.
pub fn push(text: &mut String, key: &str, value: &str) {
    if !text.is_empty() {
        text.push(',');
    }
    text.extend([key, "=", value]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_label_is_found_only_by_its_whole_key() {
        let labels = LabelText("app=web,example.com/app=,service=a,service=b");
        for (key, value) in [
            ("app", Some("web")),
            ("example.com/app", Some("")),
            ("service", Some("a")),
            ("ap", None),
            ("", None),
        ] {
            assert_eq!(labels.value(key), value, "{key}");
        }
        assert_eq!(LabelText("").iter().count(), 0);
    }

    proptest! {
        #[test]
        fn labels_are_read_as_written(mut labels: BTreeMap<String, String>, good in "[a-z]{1,9}", value in "[a-z0-9]{0,9}x") {
            labels.insert(good.clone(), value.clone());
            let text = write(&labels);
            prop_assert_eq!(LabelText(&text).value(&good), Some(value.as_str()));
            for (key, value) in LabelText(&text).iter() {
                prop_assert!(key == good || labels.get(key).is_some_and(|own| own == value));
            }
        }
    }
}
