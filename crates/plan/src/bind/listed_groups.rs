//! Groups that are known without the data.

use hushtable_lang::Value;

use super::Key;

/// The number of groups of keys whose values are all public.
pub(super) fn listed_groups(keys: &[Key]) -> usize {
    let listed = keys.iter().map(|key| key.public.as_ref().map_or(1, Vec::len));
    listed.fold(1, usize::saturating_mul)
}

/// The public groups as rows of key values, in the order of the contract's lists.
pub fn public_groups(keys: &[Key]) -> Vec<Vec<Value>> {
    combined(keys, |key| key.public.as_deref())
}

/// The groups that are known without the data among others that may appear: all combinations of
/// public and known keys; none where a key has neither.
pub fn known_groups(keys: &[Key]) -> Vec<Vec<Value>> {
    combined(keys, |key| key.public.as_deref().or(key.known.as_deref()))
}

fn combined(keys: &[Key], listed: impl Fn(&Key) -> Option<&[Value]>) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for key in keys {
        let values = listed(key).unwrap_or_default();
        rows = rows
            .into_iter()
            .flat_map(|row| {
                values.iter().map(move |value| {
                    let mut next = row.clone();
                    next.push(value.clone());
                    next
                })
            })
            .collect();
    }
    rows
}
