//! Replicas over time as a line of block characters.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The newest `width` values of current and maximum replicas, oldest first; `·` for a missing value.
pub(crate) fn sparkline(load: impl ExactSizeIterator<Item = Option<(u32, u32)>>, width: usize) -> String {
    let older = load.len().saturating_sub(width);
    load.skip(older)
        .map(|value| value.map_or('·', |(current, max)| block(current, max)))
        .collect()
}

fn block(current: u32, max: u32) -> char {
    let highest = BLOCKS.len() - 1;
    let index = u64::from(current) * highest as u64 / u64::from(max.max(1));
    usize::try_from(index)
        .ok()
        .and_then(|index| BLOCKS.get(index))
        .copied()
        .unwrap_or(BLOCKS[highest])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_values_are_drawn_against_their_maximum() {
        let load = [
            Some((9, 9)),
            None,
            Some((0, 7)),
            Some((3, 7)),
            Some((7, 7)),
            Some((9, 7)),
            Some((1, 0)),
        ];
        assert_eq!(sparkline(load.into_iter(), 6), "·▁▄███");
        assert_eq!(sparkline([].into_iter(), 6), "");
    }
}
