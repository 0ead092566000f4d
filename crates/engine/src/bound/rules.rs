//! Units as numbers, and the keyed hashes that say which of their groups are kept.

use std::hash::Hasher;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::error::DataFusionError;
use siphasher::sip::SipHasher24;

use super::packed::PackedLayout;
use crate::contributions::SamplingKey;
use crate::intern::{Hashes, Interner, hash_of_integer, inconsistent};

/// Units as numbers of 64 bits.
enum UnitCodes {
    /// Integers are numbers as they are.
    Integers,
    /// Other values are numbered.
    Numbered { interner: Interner, hashes: Hashes },
}

/// Rules that are the same for all shards of the units.
pub(super) struct Rules {
    codes: UnitCodes,
    key: SamplingKey,
    pub(super) groups: Hashes,
    /// With the sampling key.
    pub(super) hasher: SipHasher24,
    /// Most groups of a unit.
    pub(super) most: usize,
    pub(super) layout: PackedLayout,
    /// The hash that finds units and groups in tables. It is not secret and decides nothing that is
    /// released.
    pub(super) finding: foldhash::fast::RandomState,
}

impl Rules {
    /// For units and groups of these columns' types.
    pub(super) fn new(
        unit: &ArrayRef,
        keys: &[ArrayRef],
        (key, most): (SamplingKey, usize),
        layout: PackedLayout,
    ) -> Result<Self, DataFusionError> {
        let codes = match unit.as_primitive_opt::<Int64Type>() {
            Some(_) => UnitCodes::Integers,
            None => {
                let unit = std::slice::from_ref(unit);
                let interner = Interner::new(unit)?;
                UnitCodes::Numbered { interner, hashes: Hashes::new(unit, key.0)? }
            }
        };
        Ok(Self {
            codes,
            key,
            groups: Hashes::new(keys, key.0)?,
            hasher: SipHasher24::new_with_key(&key.0),
            most,
            layout,
            finding: foldhash::fast::RandomState::default(),
        })
    }

    /// The number of each row's unit.
    pub(super) fn codes(&mut self, unit: &ArrayRef) -> Result<Vec<u64>, DataFusionError> {
        // NULL would be a unit of its own, as if its rows were of one person.
        if unit.null_count() > 0 {
            return Err(inconsistent("rows that are bounded have no unit"));
        }
        match &mut self.codes {
            UnitCodes::Integers => {
                let unit = unit.as_primitive_opt::<Int64Type>();
                let unit = unit.ok_or_else(|| inconsistent("units change their type"))?;
                Ok(unit.values().iter().map(|value| value.cast_unsigned()).collect())
            }
            UnitCodes::Numbered { interner, hashes } => {
                let unit = std::slice::from_ref(unit);
                interner.intern(unit)?;
                hashes.extend(unit, &interner.ids, interner.len())?;
                Ok(interner.ids.iter().map(|&id| id as u64).collect())
            }
        }
    }

    /// All 128 bits of a unit's keyed hash. It is of the value, not of a number: numbers follow
    /// from the order of the rows, and the same unit would keep other groups in another file order.
    pub(super) fn rank(&self, code: u64) -> u128 {
        match &self.codes {
            UnitCodes::Integers => hash_of_integer(&self.key.0, code.cast_signed()).as_u128(),
            UnitCodes::Numbered { hashes, .. } => hashes.rank(code as usize),
        }
    }

    /// 64 bits of it.
    pub(super) fn unit_hash(&self, code: u64) -> u64 {
        match &self.codes {
            UnitCodes::Integers => hash_of_integer(&self.key.0, code.cast_signed()).h1,
            UnitCodes::Numbered { hashes, .. } => hashes.of(code as usize),
        }
    }

    /// The keyed hash of a unit, by its own hash, and a group.
    pub(super) fn pair_hash(&self, unit_hash: u64, group: u32) -> u64 {
        let mut hasher = self.hasher;
        hasher.write_u64(unit_hash);
        hasher.write_u64(self.groups.of(group as usize));
        hasher.finish()
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        let codes = match &self.codes {
            UnitCodes::Integers => 0,
            UnitCodes::Numbered { interner, hashes } => interner.size() + hashes.size(),
        };
        codes + self.groups.size()
    }
}
