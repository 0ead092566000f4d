//! Structures as flat lists of numbers, for columns of batches.
//!
//! Readings for owners beside exact groups have no Serialize, so that nothing writes them by
//! accident. This is their one way into a batch and back.

use std::collections::BTreeMap;

use datafusion::error::{DataFusionError, Result};

use crate::intern::inconsistent;

/// Can be written as numbers and read back as it was.
pub(crate) trait Flat: Sized {
    /// Appends its numbers.
    fn write(&self, numbers: &mut Vec<u64>);

    /// Takes its numbers from the front of a list.
    ///
    /// # Errors
    /// When they are not those of such a structure.
    fn read(numbers: &mut Numbers<'_>) -> Result<Self>;
}

/// The numbers of a list that are not taken yet.
pub(crate) struct Numbers<'a>(pub(crate) &'a [u64]);

impl Numbers<'_> {
    pub(crate) fn take(&mut self) -> Result<u64> {
        let (first, rest) = self.0.split_first().ok_or_else(foreign)?;
        self.0 = rest;
        Ok(*first)
    }
}

/// The structure that is all of a list.
///
/// # Errors
/// When the list has other numbers.
pub(crate) fn read_all<T: Flat>(numbers: &[u64]) -> Result<T> {
    let mut numbers = Numbers(numbers);
    let whole = T::read(&mut numbers)?;
    if numbers.0.is_empty() { Ok(whole) } else { Err(foreign()) }
}

#[track_caller]
pub(crate) fn foreign() -> DataFusionError {
    inconsistent("a list of numbers is not one of what was written")
}

/// A structure as its fields, one after the other.
macro_rules! flat {
    ($name:ident { $($field:ident),* }) => {
        impl crate::flat::Flat for $name {
            fn write(&self, numbers: &mut Vec<u64>) {
                $(crate::flat::Flat::write(&self.$field, numbers);)*
            }

            fn read(
                numbers: &mut crate::flat::Numbers<'_>,
            ) -> datafusion::error::Result<Self> {
                Ok(Self { $($field: crate::flat::Flat::read(numbers)?),* })
            }
        }
    };
}

pub(crate) use flat;

impl Flat for u64 {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(*self);
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        numbers.take()
    }
}

impl Flat for u32 {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push((*self).into());
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        numbers.take()?.try_into().map_err(|_| foreign())
    }
}

impl Flat for i64 {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(*self as u64);
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        Ok(numbers.take()? as i64)
    }
}

impl Flat for f64 {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(self.to_bits());
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        Ok(Self::from_bits(numbers.take()?))
    }
}

impl Flat for u128 {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.extend([(*self >> 64) as u64, *self as u64]);
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        let high = Self::from(numbers.take()?);
        Ok((high << 64) | Self::from(numbers.take()?))
    }
}

impl Flat for i128 {
    fn write(&self, numbers: &mut Vec<u64>) {
        (*self as u128).write(numbers);
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        Ok(u128::read(numbers)? as Self)
    }
}

impl<T: Flat> Flat for Box<T> {
    fn write(&self, numbers: &mut Vec<u64>) {
        T::write(self, numbers);
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        Ok(Self::new(T::read(numbers)?))
    }
}

impl<T: Flat> Flat for Option<T> {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(u64::from(self.is_some()));
        if let Some(value) = self {
            value.write(numbers);
        }
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        match numbers.take()? {
            0 => Ok(None),
            1 => Ok(Some(T::read(numbers)?)),
            _ => Err(foreign()),
        }
    }
}

impl<T: Flat> Flat for Vec<T> {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(self.len() as u64);
        self.iter().for_each(|value| value.write(numbers));
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        let values = numbers.take()?;
        (0..values).map(|_| T::read(numbers)).collect()
    }
}

impl<K: Flat + Ord, V: Flat> Flat for BTreeMap<K, V> {
    fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(self.len() as u64);
        for (key, value) in self {
            key.write(numbers);
            value.write(numbers);
        }
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        let entries = numbers.take()?;
        (0..entries).map(|_| Ok((K::read(numbers)?, V::read(numbers)?))).collect()
    }
}

impl<T: Flat> Flat for [T; 2] {
    fn write(&self, numbers: &mut Vec<u64>) {
        self.iter().for_each(|value| value.write(numbers));
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self> {
        Ok([T::read(numbers)?, T::read(numbers)?])
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn comes_back<T: Flat + PartialEq + Debug>(value: T) {
        let mut numbers = Vec::new();
        value.write(&mut numbers);
        assert_eq!(read_all::<T>(&numbers).unwrap(), value);
        for fewer in 0..numbers.len() {
            assert!(read_all::<T>(&numbers[..fewer]).is_err(), "{fewer} of {}", numbers.len());
        }
        numbers.push(0);
        assert!(read_all::<T>(&numbers).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        comes_back(vec![0u64, u64::MAX]);
        comes_back(vec![i64::MIN, -1, 0, i64::MAX]);
        comes_back(vec![i128::MIN, -1, 0, i128::MAX]);
        comes_back(vec![u128::MAX, 1 << 64]);
        comes_back(vec![0.1 + 0.2, -0.0, f64::INFINITY]);
        comes_back([Some(1u32), None]);
        comes_back(BTreeMap::from([(-3i64, vec![1u64]), (4, Vec::new())]));
        assert!(read_all::<u32>(&[1 << 32]).is_err());
        assert!(read_all::<Option<u64>>(&[2, 0]).is_err());
        // No list is as long as its length says without that many numbers.
        assert!(read_all::<Vec<u64>>(&[u64::MAX]).is_err());
    }
}
