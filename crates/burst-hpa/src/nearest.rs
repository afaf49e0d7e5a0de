//! Finds the name that a misspelt name was probably meant to be.

/// The largest edit distance of a suggestion.
const MAX_DISTANCE: usize = 2;

/// The closest of `names`, ignoring case, if it is within the largest distance and shares at least half its letters.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.map(|other| (distance(&name.to_lowercase(), &other.to_lowercase()), other));
    distances
        .filter(|(distance, other)| *distance <= MAX_DISTANCE && 2 * *distance <= other.len())
        .min()
        .map(|(_, other)| other)
}

/// The edit distance: letters to insert, delete or replace.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    // A much longer name is out of range anyway.
    for (index, letter) in from.chars().take(to.len() + MAX_DISTANCE + 1).enumerate() {
        let mut left = index + 1;
        let mut next = vec![left];
        for (above, other) in row.windows(2).zip(&to) {
            let [diagonal, above] = above else { continue };
            left = (diagonal + usize::from(letter != *other)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typos_get_a_suggestion_and_other_names_do_not() {
        let find = |name| nearest(name, ["minReplicas", "maxReplicas", "behavior", "type"].into_iter());
        let table = [
            ("minreplicas", Some("minReplicas")),
            ("behaviour", Some("behavior")),
            ("maxReplica", Some("maxReplicas")),
            ("replicas", None),
            ("", None),
            ("xy", None),
        ];
        for (name, expected) in table {
            assert_eq!(find(name), expected, "{name}");
        }
    }
}
