//! `hushtable figures`.

use std::fs;
use std::path::Path;

use hushtable::output::PendingFile;
use hushtable_experiments::{
    ExperimentError, Figure, establishments, herds, partial_knowledge, partition_selection, sim,
};
use hushtable_plot::Format;

use crate::arguments::{Experiment, FiguresArguments};
use crate::failure::Failure;
use crate::pace;
use crate::progress::timed;
use crate::stdio;

pub(crate) fn run(asked: &FiguresArguments) -> Result<(), Failure> {
    fs::create_dir_all(&asked.out).map_err(|e| {
        Failure::new(
            format!("cannot make the folder {}: {e}", asked.out.display()),
            "--out names a folder, or one that can be made",
        )
    })?;
    let figures = timed(|| match asked.experiment {
        Experiment::Sim => sim::figures(asked.seed),
        Experiment::Herds => herds::figures(asked.seed),
        Experiment::PartialKnowledge => partial_knowledge::figures(),
        Experiment::PartitionSelection => partition_selection::figures(),
        Experiment::Establishments => establishments::figures(asked.seed),
    });
    figures.map_err(unmade)?.iter().try_for_each(|figure| written(figure, &asked.out))
}

/// Writes the files of a figure, and tells their names.
fn written(figure: &Figure, folder: &Path) -> Result<(), Failure> {
    for (extension, format) in [("svg", Format::Svg), ("png", Format::Png)] {
        let drawn = timed(|| figure.chart.draw(format))?;
        write(&folder.join(format!("{}.{extension}", figure.name)), drawn)?;
    }
    write(&folder.join(format!("{}.csv", figure.name)), numbers(figure)?)
}

fn write(path: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
    pace::written(PendingFile::replacing(path)?, bytes)?;
    stdio::print(format!("{}\n", path.display()).as_bytes())
}

/// The numbers of a figure as CSV.
fn numbers(figure: &Figure) -> Result<Vec<u8>, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let unwritten = |e: csv::Error| {
        Failure::new(format!("the numbers cannot be written: {e}"), "this is a bug: report it")
    };
    writer.write_record(&figure.columns).map_err(unwritten)?;
    for row in &figure.rows {
        writer.write_record(row).map_err(unwritten)?;
    }
    writer.into_inner().map_err(|e| unwritten(e.into_error().into()))
}

fn unmade(error: ExperimentError) -> Failure {
    Failure::new(format!("the experiment ends early: {error}"), "this is a bug: report it")
}
