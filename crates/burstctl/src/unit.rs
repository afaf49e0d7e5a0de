//! Formats amounts for people.

use burst_hpa::Quantity;

/// The unit of an amount: ` %`, or the suffix of a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    suffix: String,
    /// Thousandths in one unit.
    milli: i64,
}

impl Unit {
    /// The unit of a target as Kubernetes writes it: `Mi` for `0.5Gi`, `m` for `0.1`, none for `30`.
    #[must_use]
    pub fn of(target: &Quantity) -> Self {
        let canonical = target.to_string();
        let suffix = canonical.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        match format!("1{suffix}").parse::<Quantity>() {
            Ok(one) if Quantity::from_milli(one.milli_value()) == one => Self::new(suffix, one.milli_value()),
            // The controller rounds to thousandths.
            _ => Self::new("m", 1),
        }
    }

    /// Percent.
    #[must_use]
    pub fn percent() -> Self {
        Self::new(" %", 1000)
    }

    fn new(suffix: &str, milli: i64) -> Self {
        Self {
            suffix: suffix.to_owned(),
            milli,
        }
    }

    /// Formats thousandths; if three decimals are not exact, the exact number follows in parentheses.
    #[must_use]
    pub fn exact(&self, milli: i64) -> String {
        let (milli, unit) = (i128::from(milli), i128::from(self.milli));
        match 1000 * milli % unit {
            0 => format!("{}{}", format_milli(1000 * milli / unit), self.suffix),
            _ => format!("{} ({})", self.rounded(as_f64(milli)), format_milli(milli)),
        }
    }

    /// Formats thousandths with three decimals.
    #[must_use]
    pub fn rounded(&self, milli: f64) -> String {
        format!("{}{}", rounded(milli / as_f64(self.milli.into())), self.suffix)
    }
}

/// Formats with three decimals and without trailing zeros.
#[must_use]
pub fn rounded(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "shown to a person, with three digits")]
fn as_f64(milli: i128) -> f64 {
    milli as f64
}

/// Formats thousandths: `1.5`, `300`.
#[must_use]
pub fn format_milli(milli: i128) -> String {
    let (whole, rest) = (milli.unsigned_abs() / 1000, milli.unsigned_abs() % 1000);
    let sign = if milli < 0 { "-" } else { "" };
    match rest {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{rest:03}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unit(target: &str) -> Unit {
        Unit::of(&target.parse().unwrap())
    }

    #[test]
    fn an_amount_is_shown_in_the_unit_that_kubernetes_gives_its_target() {
        let table = [
            ("50Mi", 209_715_200_000, "200Mi"),
            ("1024Mi", 209_715_200_000, "0.195Gi (209715200)"),
            ("50Mi", 50_000_000_000, "47.684Mi (50000000)"),
            ("0.1", 102, "102m"),
            ("30", 65_500, "65.5"),
            ("1000", 1_234_600, "1.235k (1234.6)"),
            ("5e3", 4_500_000, "4.5e3"),
            ("500u", 1, "1m"),
            ("2Mi", -1_048_576_000, "-1Mi"),
            ("1", i64::MIN, "-9223372036854775.808"),
            ("1", -50, "-0.05"),
        ];
        for (target, milli, text) in table {
            assert_eq!(unit(target).exact(milli), text, "{milli} thousandths beside {target}");
        }
        assert_eq!(Unit::percent().exact(82_000), "82 %");
    }

    proptest! {
        #[test]
        fn a_target_is_shown_as_kubernetes_writes_it(number in 1..10_000_i64, suffix in "[mkMGT]?|[KMGT]i|e[0369]") {
            let target: Quantity = format!("{number}{suffix}").parse().unwrap();
            prop_assume!(target.fits_milli());
            prop_assert_eq!(Unit::of(&target).exact(target.milli_value()), target.to_string());
        }
    }
}
