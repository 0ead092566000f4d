//! Shared by the tests: short ways to make losses and requests, and children.

use std::path::{Path, PathBuf};
use std::process::Command;

use hushtable_ledger::{
    Charge, Fingerprint, Ledger, LedgerError, Location, NamedPopulation, Outcome, PaymentOutcome,
    Populations, Release, Request, Units,
};
use hushtable_privacy::Loss;
use tempfile::TempDir;

/// `epsilon` or `rho`, and optionally a delta: `loss("epsilon 0.1 1e-6")`.
pub(crate) fn loss(text: &str) -> Loss {
    let mut words = text.split(' ');
    let (currency, amount) = (words.next().unwrap(), words.next().unwrap());
    let delta = words.next().unwrap_or("0").parse().unwrap();
    match currency {
        "epsilon" => Loss::Approximate { epsilon: amount.parse().unwrap(), delta },
        "rho" => Loss::Concentrated { rho: amount.parse().unwrap(), delta },
        other => panic!("{other}"),
    }
}

/// A question of alice on visits; each number is a question of its own.
pub(crate) fn request(question: u64, cost: &str, limit: &str) -> Request {
    let mut fingerprint = [0; 32];
    fingerprint[..8].copy_from_slice(&question.to_le_bytes());
    Request {
        analyst: "alice".to_owned(),
        population: "visits".to_owned(),
        query: format!("SELECT {question}"),
        fingerprint: Fingerprint::new(fingerprint),
        family: Fingerprint::new([0; 32]),
        loss: loss(cost),
        events: vec![loss(cost).into()],
        limit: loss(limit),
    }
}

/// The populations of a contract that has visits by their customers, and staff.
pub(crate) fn visits() -> Populations {
    let population = |(name, unit): (&str, &str)| {
        let units = Units([(name.to_owned(), unit.to_owned())].into());
        let section = format!("[tables.{name}]");
        (name.to_owned(), NamedPopulation { units, formerly: Vec::new(), section })
    };
    let all = [
        ("visits", "visits.customer"),
        ("staff", "staff.id"),
        ("Staff", "Staff.id"),
        ("claims", "claims.id"),
    ];
    Populations::new(all.map(population).into(), [])
}

/// Pays for one question and begins it, or gives its release.
pub(crate) trait ChargeOne {
    fn charge(&mut self, request: &Request) -> Result<Outcome, LedgerError>;
}

impl<L: Ledger + ?Sized> ChargeOne for L {
    fn charge(&mut self, request: &Request) -> Result<Outcome, LedgerError> {
        match self.charge_all(std::slice::from_ref(request))?.remove(0) {
            PaymentOutcome::Stored(stored) => Ok(Outcome::Stored(stored)),
            PaymentOutcome::Charged(payment) => self.begin(&payment, &[]),
        }
    }
}

pub(crate) fn pay(ledger: &mut dyn Ledger, request: &Request) -> Charge {
    match ledger.charge(request).unwrap() {
        Outcome::Charged(charge) => charge,
        Outcome::Stored(stored) => panic!("free: {stored:?}"),
    }
}

/// Draws and records a release for a charge.
pub(crate) fn answer(ledger: &mut dyn Ledger, charge: Charge, release: &Release) {
    let drawn = ledger.draw(charge.open(), Vec::new(), 0).unwrap();
    ledger.record(drawn, release).unwrap();
}

/// A release that tells which charge it is for.
pub(crate) fn release(charge: i64) -> Release {
    Release { table: charge.to_le_bytes().to_vec(), statement: format!("for charge {charge}") }
}

pub(crate) fn open<P: AsRef<Path> + ?Sized>(
    path: &P,
    populations: Populations,
) -> Result<Box<dyn Ledger>, LedgerError> {
    Location::file(path.as_ref()).open(populations)
}

pub(crate) fn open_read_only<P: AsRef<Path> + ?Sized>(
    path: &P,
    populations: Populations,
) -> Result<Option<Box<dyn Ledger>>, LedgerError> {
    Location::file(path.as_ref()).open_read_only(populations)
}

/// A new ledger in a file.
pub(crate) fn new_ledger() -> (TempDir, PathBuf, Box<dyn Ledger>) {
    let (folder, location, ledger) = Kind::File.new_ledger();
    (folder, location.path().to_owned(), ledger)
}

/// The kinds of ledgers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    File,
    Memory,
}

impl Kind {
    /// A place for a new ledger, and the folder that it is in.
    pub(crate) fn new_location(self) -> (TempDir, Location) {
        let folder = tempfile::tempdir().unwrap();
        let location = match self {
            Self::File => Location::file(folder.path().join("ledger.sqlite")),
            Self::Memory => Location::in_memory(),
        };
        (folder, location)
    }

    pub(crate) fn new_ledger(self) -> (TempDir, Location, Box<dyn Ledger>) {
        let (folder, location) = self.new_location();
        let ledger = location.open(visits()).unwrap();
        assert!(ledger.created());
        (folder, location, ledger)
    }
}

/// Makes two tests of each function: with a ledger in a file, and with one in memory.
macro_rules! with_each_kind {
    ($($test:ident),+ $(,)?) => {
        mod in_a_file {
            $(#[test]
            fn $test() {
                insta::allow_duplicates! { super::$test(crate::support::Kind::File) }
            })+
        }

        mod in_memory {
            $(#[test]
            fn $test() {
                insta::allow_duplicates! { super::$test(crate::support::Kind::Memory) }
            })+
        }
    };
}
pub(crate) use with_each_kind;

pub(crate) fn spent(ledger: &dyn Ledger, limit: &str) -> Loss {
    ledger.account("alice", "visits", loss(limit)).unwrap().spent
}

/// SQLite's own opinion of the file, if the ledger is in one.
pub(crate) fn assert_sound(path: impl AsRef<Path>) {
    let path = path.as_ref();
    if !path.is_file() {
        return;
    }
    let conn = rusqlite::Connection::open(path).unwrap();
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans = conn.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    assert!(!orphans, "a release without its charge");
}

const PATH: &str = "HUSHTABLE_LEDGER_TEST_PATH";

/// The ledger's path, where this process is the child of a test. A test that needs other
/// processes runs itself again, so that no other program has to be built.
pub(crate) fn as_child() -> Option<PathBuf> {
    std::env::var_os(PATH).map(PathBuf::from)
}

/// A command that runs the test of this name as a child; `shell` comes before it in `sh`.
pub(crate) fn child(test: &str, path: &Path, shell: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!(r#"{shell} exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(PATH, path);
    command
}

/// Says something in a child process, on a line of its own and at once.
pub(crate) fn say(word: &str, number: i64) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // One write, so that a kill cannot split it; the newline before ends what the test harness
    // has printed.
    out.write_all(format!("\nsays {word} {number}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The numbers that a child said with `word`.
pub(crate) fn said(output: &str, word: &str) -> Vec<i64> {
    let prefix = format!("says {word} ");
    output.lines().filter_map(|line| line.strip_prefix(&prefix)?.parse().ok()).collect()
}
