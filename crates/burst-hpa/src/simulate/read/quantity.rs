//! Quantities as the controller computes with them.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use super::error::ReadError;
use crate::Quantity;

/// Thousandths, rounded up.
pub(super) fn milli(written: &Written, field: &str) -> Result<i64, ReadError> {
    Ok(parse(written, field)?.milli_value())
}

/// The float that Go's `AsApproximateFloat64` gives once the API server has stored the quantity in its canonical form.
///
/// It multiplies the digits by a power of ten, which rounds twice: `333m` is not the float nearest to 0.333.
pub(super) fn approximate(written: &Written, field: &str) -> Result<f64, ReadError> {
    let canonical = parse(written, field)?.to_string();
    let end = canonical
        .find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c))
        .unwrap_or(canonical.len());
    let (digits, suffix) = canonical.split_at_checked(end).unwrap_or((canonical.as_str(), ""));
    Ok(digits.parse().unwrap_or(f64::NAN) * factor(suffix))
}

fn factor(suffix: &str) -> f64 {
    match suffix {
        "n" => 1.0 / 1e9,
        "u" => 1.0 / 1e6,
        "m" => 1.0 / 1e3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        _ => exponent(suffix).unwrap_or(1.0),
    }
}

/// `e-3` and the like.
fn exponent(suffix: &str) -> Option<f64> {
    let exponent: i32 = suffix.strip_prefix('e')?.parse().ok()?;
    let power = 10f64.powi(exponent.saturating_abs());
    Some(if exponent < 0 { 1.0 / power } else { power })
}

fn parse(written: &Written, field: &str) -> Result<Quantity, ReadError> {
    Quantity::try_from(written).map_err(|error| ReadError::Quantity {
        field: field.to_owned(),
        value: written.0.clone(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(text: &str) -> f64 {
        approximate(&Written(text.to_owned()), "tolerance").unwrap()
    }

    #[test]
    fn floats_are_digits_times_a_power_of_ten() {
        assert_eq!(float("0"), 0.0);
        assert_eq!(float("2"), 2.0);
        assert_eq!(float("0.1"), 100.0 * (1.0 / 1e3));
        assert_eq!(float("0.0375"), 37500.0 * (1.0 / 1e6));
        assert_eq!(float("1500m"), 1500.0 * (1.0 / 1e3));
        assert_eq!(float("2k"), 2000.0);
        assert_eq!(float("5e-1"), 500.0 * (1.0 / 1e3));
    }

    #[test]
    fn an_invalid_quantity_is_reported_with_its_path() {
        let error = milli(&Written("ten".to_owned()), "spec.metrics[0].pods.target.averageValue").unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.metrics[0].pods.target.averageValue: \"ten\" is not a quantity"
        );
    }
}
