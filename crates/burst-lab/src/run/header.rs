//! `x-burst` as a client reads it: docs/using-the-header.md has the grammar.

/// The replicas of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) current: u32,
    pub(crate) target: u32,
    pub(crate) max: u32,
}

impl Load {
    /// Parses the value of the header; `None` if a number is missing.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        Some(Load {
            current: number(header, "current-load")?,
            target: number(header, "target-load")?,
            max: number(header, "max-load")?,
        })
    }

    /// The replicas that can be added.
    pub(crate) fn headroom(self) -> u32 {
        self.max.saturating_sub(self.current)
    }

    pub(crate) fn state(self) -> LoadState {
        if self.current >= self.max {
            LoadState::Full
        } else if self.current >= self.target {
            LoadState::AtTarget
        } else {
            LoadState::HasRoom
        }
    }
}

/// What the header tells a client to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadState {
    /// Below the target: send as much as you want.
    HasRoom,
    /// At the target or above: send no more than before.
    AtTarget,
    /// At the maximum or above: move work away.
    Full,
}

fn number(header: &str, key: &str) -> Option<u32> {
    let mut pairs = header.split(", ").filter_map(|pair| pair.split_once('='));
    pairs.find(|(k, _)| *k == key).and_then(|(_, value)| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_found_in_any_order_among_other_keys() {
        let load = Load::parse("service=a/b, x=y, max-load=5, current-load=2, target-load=4, headroom=3");
        assert_eq!(
            load,
            Some(Load {
                current: 2,
                target: 4,
                max: 5
            })
        );
    }

    #[test]
    fn a_header_without_one_of_the_numbers_says_nothing() {
        for header in [
            "",
            "current-load=2, target-load=4",
            "current-load=2, target-load=x, max-load=5",
        ] {
            assert_eq!(Load::parse(header), None, "{header}");
        }
    }

    #[test]
    fn target_and_maximum_divide_the_states() {
        let states = [3, 4, 5, 6].map(|current| {
            let load = Load {
                current,
                target: 4,
                max: 5,
            };
            (load.state(), load.headroom())
        });
        let wanted = [
            (LoadState::HasRoom, 2),
            (LoadState::AtTarget, 1),
            (LoadState::Full, 0),
            (LoadState::Full, 0),
        ];
        assert_eq!(states, wanted);
    }
}
