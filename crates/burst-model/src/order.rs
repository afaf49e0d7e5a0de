//! Sorting with one copy of the code for all types. The sort of the standard library adds 8 KB to the Wasm module for each type.

use std::cmp::Ordering;

/// Sorts items. The sort is stable.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    // Most lists are sorted already.
    if items.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return;
    }
    let indices = order(items.len(), &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut unsorted: Vec<_> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(indices.into_iter().filter_map(|index| unsorted.get_mut(index)?.take()));
}

/// Returns the sorted order of `count` items as their indices.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut indices: Vec<_> = (0..count).collect();
    indices.sort_by(|a, b| compare(*a, *b));
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_library(items: Vec<(u8, u8)>) {
            let (mut sorted, mut wanted) = (items.clone(), items);
            sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
            wanted.sort_by_key(|item| item.0);
            prop_assert_eq!(sorted, wanted);
        }
    }
}
