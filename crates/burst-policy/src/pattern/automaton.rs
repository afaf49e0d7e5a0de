//! What the engine makes of a pattern, as a caller can know it without compiling: how large that is, and the most that
//! a match with a name can cost.
//!
//! regex-lite compiles to Thompson's automaton, a state for each character with repetitions written out and one or two
//! for each repetition and alternative, and goes through the name once. At each character it visits the states that
//! some beginning of that length leads to. A [`State`] has bounds for those lengths, so what all states can cost together
//! is a sum, and a name that costs more cannot exist. <https://swtch.com/~rsc/regexp/regexp2.html>

/// States, and what they cost.
#[derive(Debug)]
pub(super) struct Automaton {
    states: Vec<State>,
    /// Characters of a name that it stands for: the least, and the most.
    min: usize,
    max: usize,
    /// As [`MAX_STATES`](super::MAX_STATES) counts.
    characters: usize,
    ranges: usize,
}

/// A state of the automaton.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The least number of characters in front of it, and the most.
    min_position: usize,
    max_position: usize,
    /// Steps of one visit.
    weight: usize,
}

/// How often something is repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repetition {
    pub(super) min: usize,
    /// `None`: without end.
    pub(super) max: Option<usize>,
}

impl Repetition {
    /// How often it is written out.
    fn copies(self) -> usize {
        self.max.unwrap_or(self.min).max(1)
    }
}

/// More than any name has.
const UNBOUNDED: usize = usize::MAX;

/// Steps of a state with two ways on.
const FORK_STEPS: usize = 2;

/// Steps at each character, whatever is active: it is decoded, and the engine looks whether a match begins there.
const STEPS_PER_CHARACTER: usize = 4;

/// Ranges that one step compares a character with.
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

    /// One character of so many ranges.
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

    /// In parentheses.
    pub(super) fn grouped(mut self) -> Self {
        self.characters += 1;
        self
    }

    /// This, and then the other.
    pub(super) fn then(mut self, next: &Self) -> Self {
        self.add_states(next, self.min, self.max);
        self.min = self.min.saturating_add(next.min);
        self.max = self.max.saturating_add(next.max);
        self.characters += next.characters;
        self
    }

    /// Takes the states of another with so many characters in front of it.
    fn add_states(&mut self, other: &Self, min: usize, max: usize) {
        self.states.extend(other.states.iter().map(|state| State {
            min_position: state.min_position.saturating_add(min),
            max_position: state.max_position.saturating_add(max),
            weight: state.weight,
        }));
        self.ranges += other.ranges;
    }

    /// A state between characters.
    fn add_state(&mut self, min_position: usize, max_position: usize, weight: usize) {
        self.states.push(State {
            min_position,
            max_position,
            weight,
        });
    }

    /// One of several.
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

    /// How many characters it stands for if it is repeated.
    pub(super) fn characters_repeated(&self, repetition: Repetition) -> usize {
        self.characters.saturating_mul(repetition.copies()).saturating_add(1)
    }

    /// The same again and again. The caller looks at [`Self::characters_repeated`] before.
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
            // Where all that may be left out go on.
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

    /// The characters it stands for, with repetitions written out; some ranges of a class are one more.
    pub(super) fn characters(&self) -> usize {
        self.characters
    }

    pub(super) fn states(&self) -> usize {
        self.states.len()
    }

    pub(super) fn ranges(&self) -> usize {
        self.ranges
    }

    /// The most steps that a name of so many characters can cost: the visits of each state, and at each character what
    /// the engine does there in any case.
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
    fn steps_are_those_of_the_states_that_a_beginning_leads_to() {
        let each = super::STEPS_PER_CHARACTER;
        for (text, length, states, characters) in [
            ("abc", 512, 3, 4),
            // A name that is no longer meets no more of it.
            ("abc", 1, 2, 2),
            ("[a-c]", 9, 1, 2),
            ("[acegik]", 9, 2, 2),
            // One fork and its end before either branch, and the branches.
            ("a|bc", 9, 3 + 2 + 2 * 2, 3),
        ] {
            assert_eq!(steps(text, length), states + characters * each, "{text} {length}");
        }
    }

    #[test]
    fn what_goes_on_for_ever_costs_at_each_character_and_what_does_not_costs_once() {
        let grows = |text: &str| steps(text, 512) - steps(text, 256);
        assert_eq!(grows("metric_17_depth{2}"), 0);
        assert_eq!(grows("metric_17_(?:depth|age)?"), 0);
        assert_eq!(grows(".*"), grows("queue_[0-9]*"));
        assert_eq!(grows(".*(?:abc)"), grows(".*") + 3 * 256);
        assert!(
            steps("(?:.{0,30}){30}x", 511) > 511 * 30 * 30,
            "it may be anywhere, anywhere"
        );
    }
}
