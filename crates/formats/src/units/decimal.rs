//! Decimal numbers held exactly, so that `0.1mbit` is exactly 100 000 bit/s.

/// A decimal number, zero or more: `digits / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    scale: u32,
}

/// Reason why a quantity has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// Not a whole number of the smallest unit.
    Fraction,
    /// Beyond the range.
    TooLarge,
}

/// More digits than this are refused: no quantity here needs them, and the products stay in 128
/// bits.
const MAX_DIGITS: usize = 20;

impl Decimal {
    /// Reads `12`, `1.5` or `0.25`; no sign, no exponent, digits on both sides of the point.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        if whole.len() + fraction.len() > MAX_DIGITS {
            return None;
        }
        let digits = whole.bytes().chain(fraction.bytes()).fold(0, |sum, b| sum * 10 + u128::from(b - b'0'));
        Some(Decimal { digits, scale: fraction.len() as u32 })
    }

    /// This number times `factor`; the product must be whole.
    pub(super) fn times(self, factor: u64) -> Result<u64, Unfit> {
        let (product, power) = self.product(factor)?;
        if product % power != 0 {
            return Err(Unfit::Fraction);
        }
        u64::try_from(product / power).map_err(|_| Unfit::TooLarge)
    }

    /// This number times `factor`, rounded to the nearest whole, halves up.
    pub(super) fn times_rounded(self, factor: u64) -> Result<u64, Unfit> {
        let (product, power) = self.product(factor)?;
        u64::try_from((product + power / 2) / power).map_err(|_| Unfit::TooLarge)
    }

    fn product(self, factor: u64) -> Result<(u128, u128), Unfit> {
        let product = self.digits.checked_mul(u128::from(factor)).ok_or(Unfit::TooLarge)?;
        // The scale is at most MAX_DIGITS, and 10^20 fits.
        Ok((product, 10u128.pow(self.scale)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(Decimal::parse("0.1").unwrap().times(1_000_000), Ok(100_000));
        assert_eq!(Decimal::parse("1.50").unwrap().times(1_000), Ok(1_500));
        assert_eq!(Decimal::parse("0.0001").unwrap().times(1_000), Err(Unfit::Fraction));
        assert_eq!(Decimal::parse("0.0015").unwrap().times_rounded(1_000), Ok(2));
        assert_eq!(Decimal::parse("99999999999999999999").unwrap().times(1_000), Err(Unfit::TooLarge));
        assert_eq!(Decimal::parse("0.00000000000000000001").unwrap().times_rounded(u64::MAX), Ok(0));
    }

    #[test]
    fn what_is_not_a_decimal_is_refused() {
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1_000", "1.2.3", "100000000000000000000", "१"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
