//! Data files without a contract: exact counts of groups, and reports by randomised response.

use hushtable_engine::{GroupSizes, Progress, Secret};
use hushtable_mechanisms::RandomisedResponse;

use crate::Error;
use crate::workers::Workers;

/// Reads some files, and counts the records of each group of a release
/// `SELECT keys, COUNT(*) FROM t …`. The counts are exact: for the owner of the files alone.
///
/// # Errors
/// When a file cannot be read, or the query is no release of counts over its columns.
pub async fn group_sizes(
    workers: &Workers,
    location: &str,
    release: &str,
    progress: &Progress,
) -> Result<GroupSizes, Error> {
    let (location, release) = (location.to_owned(), release.to_owned());
    let progress = progress.clone();
    let work = async move { hushtable_engine::group_sizes(&location, &release, &progress).await };
    workers.run(work).await
}

/// The answers of all rows of some files, in their order, by randomised response: category numbers.
///
/// # Errors
/// When a file cannot be read, the column is not there or the predicate is not SQL; when the
/// mechanism's categories are not those of the secret; when the operating system's generator fails.
pub async fn randomise(
    workers: &Workers,
    location: &str,
    secret: &Secret,
    mechanism: &RandomisedResponse,
    progress: &Progress,
) -> Result<Vec<u32>, Error> {
    let (location, secret) = (location.to_owned(), secret.clone());
    let (mechanism, progress) = (mechanism.clone(), progress.clone());
    let work =
        async move { hushtable_engine::randomise(&location, &secret, &mechanism, &progress).await };
    workers.run(work).await
}
