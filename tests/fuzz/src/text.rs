//! Short texts that people write.

use burst_labels::Selector;
use burst_quantity::Quantity;

/// A quantity: what can be read is written as something that is as much.
pub(crate) fn quantity(bytes: &[u8]) -> bool {
    let Ok(quantity) = String::from_utf8_lossy(bytes).parse::<Quantity>() else {
        return false;
    };
    let text = quantity.to_string();
    let again: Quantity = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(again, quantity, "{text}");
    true
}

/// A label selector: what can be read is written as one that says the same.
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
