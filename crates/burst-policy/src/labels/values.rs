//! The values that one label may have.

/// A set of values, of which being absent is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Whether the label may be absent.
    absent: bool,
    present: PresentValues,
}

/// The lists are in order, without one twice: a query may name thousands, and so may a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PresentValues {
    OneOf(Vec<Box<str>>),
    /// All but these, within the limits.
    NoneOf(Vec<Box<str>>, Option<IntegerRange>),
}

/// ValueSet that are numbers between the two, which are left out themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IntegerRange {
    above: Option<i64>,
    below: Option<i64>,
}

impl IntegerRange {
    /// As the API server reads a value.
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

/// Any value, or none.
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

    /// What both have.
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

    /// Whether a label may neither be there nor be absent.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.absent && self.present.is_empty()
    }

    /// Whether the label of that value is one; `None` is an absent one.
    #[must_use]
    pub fn have(&self, value: Option<&str>) -> bool {
        value.map_or(self.absent, |value| self.present.has(value))
    }

    /// Whether the other set has all of these.
    #[must_use]
    pub fn is_subset_of(&self, wider: &Self) -> bool {
        (wider.absent || !self.absent) && self.present.is_subset_of(&wider.present)
    }

    /// The values that are listed, allowed or not.
    #[must_use]
    pub fn count(&self) -> usize {
        let (Ok(values) | Err(values)) = self.listed();
        values.len()
    }

    /// Whether a label may be absent.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        self.absent
    }

    /// The values where there are so many and no more; otherwise the ones that are not allowed. IntegerRange stand in no
    /// object's selector.
    ///
    /// # Errors
    /// Those that are not allowed.
    pub fn listed(&self) -> Result<&[Box<str>], &[Box<str>]> {
        match &self.present {
            PresentValues::OneOf(values) => Ok(values),
            PresentValues::NoneOf(values, _) => Err(values),
        }
    }
}

fn sorted(mut values: Vec<Box<str>>) -> Vec<Box<str>> {
    // Of two lists that are in order, this merges.
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
            // A number can be written in more ways than can be listed.
            Self::NoneOf(_, limits) => limits.is_some_and(IntegerRange::is_empty),
        }
    }

    /// Looks up no more than the wider one lists: that one is a policy's, which was looked at for what it costs.
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
