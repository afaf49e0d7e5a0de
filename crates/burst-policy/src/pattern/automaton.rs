//! A model of the automaton that the engine compiles from a pattern. It gives the size, and the largest cost of
//! matching a name, without compilation.
//!
//! regex-lite compiles a pattern to a Thompson automaton. It has a state for each character, with repetitions expanded,
//! and one or two states for each repetition and alternative. The engine reads the name once. At each character it
//! visits the states that some prefix of that length leads to. A [`State`] has bounds for these lengths, so the sum
//! over all states is an upper bound for the cost of any name. <https://swtch.com/~rsc/regexp/regexp2.html>

/// The states of a pattern and their costs.
#[derive(Debug)]
pub(super) struct Automaton {
    states: Vec<State>,
    /// The smallest and largest number of characters that it matches.
    min: usize,
    max: usize,
    /// The number of characters, counted as for [`MAX_STATES`](super::MAX_STATES).
    characters: usize,
    ranges: usize,
}

/// A state of the automaton.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The smallest and largest number of characters before the state.
    min_position: usize,
    max_position: usize,
    /// The steps of one visit.
    weight: usize,
}

/// How often a part is repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repetition {
    pub(super) min: usize,
    /// `None` if there is no upper bound.
    pub(super) max: Option<usize>,
}

impl Repetition {
    /// The number of copies that the engine makes.
    fn copies(self) -> usize {
        self.max.unwrap_or(self.min).max(1)
    }
}

/// More characters than any name has.
const UNBOUNDED: usize = usize::MAX;

/// The steps of a state with two successors.
const FORK_STEPS: usize = 2;

/// The fixed steps for each character: the engine decodes it and tries to begin a match.
const STEPS_PER_CHARACTER: usize = 4;

/// The number of ranges that one step compares.
const RANGES_PER_STEP: usize = 4;

impl Automaton {
    pub(super) fn empty() -> Self {
        Self {
            states: Vec::new(),
            min: 0,
            max: 0,
            characters: 0,
            ranges: 0,
        }
    }

    /// One character.
    pub(super) fn character() -> Self {
        Self::class(1)
    }

    /// A class with a number of ranges.
    pub(super) fn class(ranges: usize) -> Self {
        let weight = ranges.div_ceil(RANGES_PER_STEP).max(1);
        let state = State {
            min_position: 0,
            max_position: 0,
            weight,
        };
        Self {
            states: vec![state],
            min: 1,
            max: 1,
            characters: weight,
            ranges,
        }
    }

    /// A group in parentheses.
    pub(super) fn grouped(mut self) -> Self {
        self.characters += 1;
        self
    }

    /// Appends another automaton.
    pub(super) fn then(mut self, next: &Self) -> Self {
        self.add_states(next, self.min, self.max);
        self.min = self.min.saturating_add(next.min);
        self.max = self.max.saturating_add(next.max);
        self.characters += next.characters;
        self
    }

    /// Adds the states of another automaton, which begins after the given number of characters.
    fn add_states(&mut self, other: &Self, min: usize, max: usize) {
        self.states.extend(other.states.iter().map(|state| State {
            min_position: state.min_position.saturating_add(min),
            max_position: state.max_position.saturating_add(max),
            weight: state.weight,
        }));
        self.ranges += other.ranges;
    }

    /// Adds a state that reads no character.
    fn add_state(&mut self, min_position: usize, max_position: usize, weight: usize) {
        self.states.push(State {
            min_position,
            max_position,
            weight,
        });
    }

    /// Combines alternatives.
    pub(super) fn any_of(branches: Vec<Self>) -> Self {
        let count = branches.len();
        let min = branches.iter().map(|branch| branch.min).min().unwrap_or_default();
        let max = branches.iter().map(|branch| branch.max).max().unwrap_or_default();
        let mut all = Self::empty();
        for branch in branches {
            all.add_states(&branch, 0, 0);
            all.characters += branch.characters;
        }
        (all.min, all.max) = (min, max);
        if count > 1 {
            all.characters += count - 1;
            all.add_state(0, 0, count);
            all.add_state(min, max, count);
        }
        all
    }

    /// Returns the number of characters of a repetition, as [`Self::characters`] counts.
    pub(super) fn characters_repeated(&self, repetition: Repetition) -> usize {
        self.characters.saturating_mul(repetition.copies()).saturating_add(1)
    }

    /// Repeats the automaton. The caller checks [`Self::characters_repeated`] first.
    pub(super) fn repeated(&self, repetition: Repetition) -> Self {
        let mut all = Self::empty();
        all.min = self.min.saturating_mul(repetition.min);
        all.max = match repetition.max {
            Some(max) => self.max.saturating_mul(max),
            None if self.max == 0 => 0,
            None => UNBOUNDED,
        };
        all.characters = self.characters_repeated(repetition);
        let last = repetition.copies() - 1;
        for copy in 0..=last {
            let min = self.min.saturating_mul(copy);
            let max = match repetition.max {
                None if copy == last => all.max,
                _ => self.max.saturating_mul(copy),
            };
            if repetition.max.is_some() && copy >= repetition.min {
                all.add_state(min, max, FORK_STEPS);
            }
            all.add_states(self, min, max);
        }
        match repetition.max {
            Some(max) if max == repetition.min => {}
            // All optional copies continue here.
            Some(_) => all.add_state(all.min, all.max, 1),
            None => {
                all.add_state(0, all.max, FORK_STEPS);
                if self.min == 0 {
                    all.add_state(0, all.max, FORK_STEPS + 1);
                }
            }
        }
        all
    }

    /// Returns the number of characters with repetitions expanded. A class counts one for every four ranges.
    pub(super) fn characters(&self) -> usize {
        self.characters
    }

    pub(super) fn states(&self) -> usize {
        self.states.len()
    }

    pub(super) fn ranges(&self) -> usize {
        self.ranges
    }

    /// Returns the largest number of steps to match a name of a length: the visits of each state, and the fixed steps
    /// for each character.
    pub(super) fn steps(&self, length: usize) -> usize {
        let visits =
            |state: &State| (state.max_position.min(length) + 1).saturating_sub(state.min_position) * state.weight;
        let characters = self.max.min(length) + 1;
        self.states.iter().map(visits).sum::<usize>() + characters * STEPS_PER_CHARACTER
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar;

    fn steps(text: &str, length: usize) -> usize {
        grammar::parse(text).unwrap().automaton.steps(length)
    }

    #[test]
    fn the_steps_are_those_of_the_states_that_a_prefix_leads_to() {
        let each = super::STEPS_PER_CHARACTER;
        for (text, length, states, characters) in [
            ("abc", 512, 3, 4),
            // A short name reaches only the first states.
            ("abc", 1, 2, 2),
            ("[a-c]", 9, 1, 2),
            ("[acegik]", 9, 2, 2),
            // The fork and the join of the alternatives, and the states of both branches.
            ("a|bc", 9, 3 + 2 + 2 * 2, 3),
        ] {
            assert_eq!(steps(text, length), states + characters * each, "{text} {length}");
        }
    }

    #[test]
    fn the_cost_grows_with_the_name_only_for_unbounded_repetitions() {
        let grows = |text: &str| steps(text, 512) - steps(text, 256);
        assert_eq!(grows("metric_17_depth{2}"), 0);
        assert_eq!(grows("metric_17_(?:depth|age)?"), 0);
        assert_eq!(grows(".*"), grows("queue_[0-9]*"));
        assert_eq!(grows(".*(?:abc)"), grows(".*") + 3 * 256);
        assert!(
            steps("(?:.{0,30}){30}x", 511) > 511 * 30 * 30,
            "many positions are possible at each character"
        );
    }
}
