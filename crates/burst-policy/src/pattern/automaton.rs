//! What the engine makes of a pattern, as a caller can know it without compiling: how large that is, and the most that
//! a match with a name can cost.
//!
//! regex-lite compiles to Thompson's automaton, a state for each character with repetitions written out and one or two
//! for each repetition and alternative, and goes through the name once. At each character it visits the states that
//! some beginning of that length leads to. A [`Node`] has bounds for those lengths, so what all states can cost together
//! is a sum, and a name that costs more cannot exist. <https://swtch.com/~rsc/regexp/regexp2.html>

/// States, and what they cost.
#[derive(Debug)]
pub(super) struct Automaton {
    nodes: Vec<Node>,
    /// Characters of a name that it stands for: the least, and the most.
    least: usize,
    most: usize,
    /// As [`MOST_STATES`](super::MOST_STATES) counts.
    characters: usize,
    ranges: usize,
}

/// A state of the automaton.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The least number of characters in front of it, and the most.
    first: usize,
    last: usize,
    /// Steps of one visit.
    weight: usize,
}

/// How often something is repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) least: usize,
    /// `None`: without end.
    pub(super) most: Option<usize>,
}

impl Times {
    /// How often it is written out.
    fn written(self) -> usize {
        self.most.unwrap_or(self.least).max(1)
    }
}

/// More than any name has.
const WITHOUT_END: usize = usize::MAX;

/// Steps of a state with two ways on.
const FORK: usize = 2;

/// Steps at each character, whatever is active: it is decoded, and the engine looks whether a match begins there.
const AT_EACH: usize = 4;

/// Ranges that one step compares a character with.
const RANGES_A_STEP: usize = 4;

impl Automaton {
    pub(super) fn empty() -> Self {
        Self {
            nodes: Vec::new(),
            least: 0,
            most: 0,
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
        let weight = ranges.div_ceil(RANGES_A_STEP).max(1);
        let node = Node {
            first: 0,
            last: 0,
            weight,
        };
        Self {
            nodes: vec![node],
            least: 1,
            most: 1,
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
        self.put(next, self.least, self.most);
        self.least = self.least.saturating_add(next.least);
        self.most = self.most.saturating_add(next.most);
        self.characters += next.characters;
        self
    }

    /// Takes the states of another with so many characters in front of it.
    fn put(&mut self, other: &Self, least: usize, most: usize) {
        self.nodes.extend(other.nodes.iter().map(|node| Node {
            first: node.first.saturating_add(least),
            last: node.last.saturating_add(most),
            weight: node.weight,
        }));
        self.ranges += other.ranges;
    }

    /// A state between characters.
    fn join(&mut self, first: usize, last: usize, weight: usize) {
        self.nodes.push(Node { first, last, weight });
    }

    /// One of several.
    pub(super) fn any_of(branches: Vec<Self>) -> Self {
        let count = branches.len();
        let least = branches.iter().map(|branch| branch.least).min().unwrap_or_default();
        let most = branches.iter().map(|branch| branch.most).max().unwrap_or_default();
        let mut all = Self::empty();
        for branch in branches {
            all.put(&branch, 0, 0);
            all.characters += branch.characters;
        }
        (all.least, all.most) = (least, most);
        if count > 1 {
            all.characters += count - 1;
            all.join(0, 0, count);
            all.join(least, most, count);
        }
        all
    }

    /// How many characters it stands for if it is repeated.
    pub(super) fn characters_repeated(&self, times: Times) -> usize {
        self.characters.saturating_mul(times.written()).saturating_add(1)
    }

    /// The same again and again. The caller looks at [`Self::characters_repeated`] before.
    pub(super) fn repeated(&self, times: Times) -> Self {
        let mut all = Self::empty();
        all.least = self.least.saturating_mul(times.least);
        all.most = match times.most {
            Some(most) => self.most.saturating_mul(most),
            None if self.most == 0 => 0,
            None => WITHOUT_END,
        };
        all.characters = self.characters_repeated(times);
        let last = times.written() - 1;
        for copy in 0..=last {
            let least = self.least.saturating_mul(copy);
            let most = match times.most {
                None if copy == last => all.most,
                _ => self.most.saturating_mul(copy),
            };
            if times.most.is_some() && copy >= times.least {
                all.join(least, most, FORK);
            }
            all.put(self, least, most);
        }
        match times.most {
            Some(most) if most == times.least => {}
            // Where all that may be left out go on.
            Some(_) => all.join(all.least, all.most, 1),
            None => {
                all.join(0, all.most, FORK);
                if self.least == 0 {
                    all.join(0, all.most, FORK + 1);
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
        self.nodes.len()
    }

    pub(super) fn ranges(&self) -> usize {
        self.ranges
    }

    /// The most steps that a name of so many characters can cost: the visits of each state, and at each character what
    /// the engine does there in any case.
    pub(super) fn steps(&self, length: usize) -> usize {
        let visits = |node: &Node| (node.last.min(length) + 1).saturating_sub(node.first) * node.weight;
        let characters = self.most.min(length) + 1;
        self.nodes.iter().map(visits).sum::<usize>() + characters * AT_EACH
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar;

    fn steps(text: &str, length: usize) -> usize {
        grammar::read(text).unwrap().automaton.steps(length)
    }

    #[test]
    fn steps_are_those_of_the_states_that_a_beginning_leads_to() {
        let each = super::AT_EACH;
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
