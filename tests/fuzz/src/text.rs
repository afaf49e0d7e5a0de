//! Short texts that people write.

use burst_labels::Selector;
use burst_quantity::Quantity;

/// Parses a quantity. The written form has the same value, and its own written form is the same.
pub(crate) fn quantity(bytes: &[u8]) -> bool {
    let Ok(quantity) = String::from_utf8_lossy(bytes).parse::<Quantity>() else {
        return false;
    };
    let text = quantity.to_string();
    let again: Quantity = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(again.to_string(), text);
    // From 10²¹ on, Go has no suffix and writes the number without one: 1000E as 1.
    let [least, most] = ["-1000E", "1000E"].map(|text| text.parse::<Quantity>().expect("a quantity"));
    if least < quantity && quantity < most {
        assert_eq!(again, quantity, "{text}");
    }
    true
}

/// Parses a label selector. The written form has the same meaning.
pub(crate) fn selector(bytes: &[u8]) -> bool {
    let Ok(selector) = String::from_utf8_lossy(bytes).parse::<Selector>() else {
        return false;
    };
    let text = selector.to_string();
    let again: Selector = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    for value in [None, Some(""), Some("a"), Some("web"), Some("7")] {
        assert_eq!(again.matches(|_| value), selector.matches(|_| value), "{text}");
    }
    true
}
