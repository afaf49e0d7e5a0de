//! The values that one label may have.

/// A set of label values. "Absent" is one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Whether the label may be absent.
    absent: bool,
    present: PresentValues,
}

/// The lists are sorted and have no duplicates, because requests and policies can have thousands of values.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PresentValues {
    OneOf(Vec<Box<str>>),
    /// All values but these, within the range.
    NoneOf(Vec<Box<str>>, Option<IntegerRange>),
}

/// Values that are integers between the two bounds, which are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IntegerRange {
    above: Option<i64>,
    below: Option<i64>,
}

impl IntegerRange {
    /// Returns whether the API server would read the value as an integer in the range.
    fn have(self, value: &str) -> bool {
        let is_between = |number: i64| {
            self.above.is_none_or(|above| number > above) && self.below.is_none_or(|below| number < below)
        };
        value.parse().is_ok_and(is_between)
    }

    fn is_empty(self) -> bool {
        let least = self.above.map_or(Some(i64::MIN), |above| above.checked_add(1));
        let most = self.below.map_or(Some(i64::MAX), |below| below.checked_sub(1));
        least.zip(most).is_none_or(|(least, most)| least > most)
    }

    fn and(self, other: Self) -> Self {
        let below = [self.below, other.below];
        Self {
            above: self.above.max(other.above),
            below: below.into_iter().flatten().min(),
        }
    }
}

/// Any value, or an absent label.
impl Default for ValueSet {
    fn default() -> Self {
        Self::none_of([])
    }
}

impl ValueSet {
    pub(super) fn one_of(values: impl IntoIterator<Item = Box<str>>) -> Self {
        let present = PresentValues::OneOf(sorted(values.into_iter().collect()));
        Self { absent: false, present }
    }

    pub(super) fn none_of(values: impl IntoIterator<Item = Box<str>>) -> Self {
        let present = PresentValues::NoneOf(sorted(values.into_iter().collect()), None);
        Self { absent: true, present }
    }

    pub(super) fn present() -> Self {
        Self {
            absent: false,
            ..Self::default()
        }
    }

    pub(super) fn absent() -> Self {
        Self {
            absent: true,
            ..Self::nothing()
        }
    }

    pub(super) fn nothing() -> Self {
        Self::one_of([])
    }

    pub(super) fn above(limit: i64) -> Self {
        Self::limited(Some(limit), None)
    }

    pub(super) fn below(limit: i64) -> Self {
        Self::limited(None, Some(limit))
    }

    fn limited(above: Option<i64>, below: Option<i64>) -> Self {
        let present = PresentValues::NoneOf(Vec::new(), Some(IntegerRange { above, below }));
        Self { absent: false, present }
    }

    /// Returns the intersection.
    pub(super) fn and(self, other: Self) -> Self {
        let absent = self.absent && other.absent;
        let present = match (self.present, other.present) {
            (PresentValues::NoneOf(mut these, one), PresentValues::NoneOf(those, two)) => {
                these.extend(those);
                let limits = one.zip(two).map(|(one, two)| one.and(two)).or(one).or(two);
                PresentValues::NoneOf(sorted(these), limits)
            }
            (PresentValues::OneOf(mut these), other) | (other, PresentValues::OneOf(mut these)) => {
                these.retain(|value| other.has(value));
                PresentValues::OneOf(these)
            }
        };
        Self { absent, present }
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.absent && self.present.is_empty()
    }

    /// Returns whether the set contains a value; `None` is an absent label.
    #[must_use]
    pub fn have(&self, value: Option<&str>) -> bool {
        value.map_or(self.absent, |value| self.present.has(value))
    }

    /// Returns whether `wider` contains all values of this set.
    #[must_use]
    pub fn is_subset_of(&self, wider: &Self) -> bool {
        (wider.absent || !self.absent) && self.present.is_subset_of(&wider.present)
    }

    /// Returns the number of listed values, allowed or excluded.
    #[must_use]
    pub fn count(&self) -> usize {
        let (Ok(values) | Err(values)) = self.listed();
        values.len()
    }

    /// Returns whether the label may be absent.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        self.absent
    }

    /// Returns the allowed values if the set is a list of values. Selectors of objects have no integer ranges.
    ///
    /// # Errors
    /// The excluded values, if all others are allowed.
    pub fn listed(&self) -> Result<&[Box<str>], &[Box<str>]> {
        match &self.present {
            PresentValues::OneOf(values) => Ok(values),
            PresentValues::NoneOf(values, _) => Err(values),
        }
    }
}

fn sorted(mut values: Vec<Box<str>>) -> Vec<Box<str>> {
    // The sort is fast here: it merges two sorted lists.
    values.sort();
    values.dedup();
    values
}

fn is_listed(values: &[Box<str>], value: &str) -> bool {
    values.binary_search_by(|one| (**one).cmp(value)).is_ok()
}

impl PresentValues {
    fn has(&self, value: &str) -> bool {
        match self {
            Self::OneOf(values) => is_listed(values, value),
            Self::NoneOf(values, limits) => !is_listed(values, value) && limits.is_none_or(|limits| limits.have(value)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::OneOf(values) => values.is_empty(),
            // A number has so many spellings that a list cannot exclude them all.
            Self::NoneOf(_, limits) => limits.is_some_and(IntegerRange::is_empty),
        }
    }

    /// Looks up at most as many values as `wider` lists. That is the set of a policy, whose cost was checked.
    fn is_subset_of(&self, wider: &Self) -> bool {
        match (self, wider) {
            _ if self.is_empty() => true,
            (Self::OneOf(values), Self::OneOf(wider)) => {
                values.len() <= wider.len() && values.iter().all(|value| is_listed(wider, value))
            }
            (Self::OneOf(own), Self::NoneOf(values, None)) => !values.iter().any(|value| is_listed(own, value)),
            (Self::OneOf(values), wider) => values.iter().all(|value| wider.has(value)),
            (Self::NoneOf(..), Self::OneOf(_)) => false,
            (Self::NoneOf(..), Self::NoneOf(values, limits)) => {
                values.iter().all(|value| !self.has(value)) && self.is_limited_to(*limits)
            }
        }
    }

    fn is_limited_to(&self, limits: Option<IntegerRange>) -> bool {
        match (self, limits) {
            (_, None) => true,
            (Self::NoneOf(_, Some(own)), Some(limits)) => own.and(limits) == *own,
            _ => false,
        }
    }
}
