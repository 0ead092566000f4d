//! A complete table of states, from an automaton of several states at a time.

use std::collections::HashMap;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{self, Cache, DFA};
use regex_automata::nfa::thompson::NFA;
use regex_automata::util::alphabet::ByteClasses;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};

use super::Odd;
use super::prepared::StepsLeft;

/// Most states of a table.
const MAX_STATES: usize = 1_000;
/// Bytes that a state takes beside the automaton's states that it stands for.
const BESIDE: usize = 80;
/// Bytes that each of them takes, at least.
const BYTES_EACH: usize = 1;
/// Bytes for the states while a table is built; more than there can be.
const ROOM: usize = 64 << 20;

/// The state from which nothing matches any more.
const DEAD: u16 = 0;

/// States, and where each byte leads from each of them.
pub(super) struct StateTable {
    /// The class of each byte; the class after the last stands for the end of the text.
    classes: [u8; 256],
    /// How many classes there are, with the end's.
    width: usize,
    /// The next state of each state and class.
    next: Vec<u16>,
    /// Whether a state says that a match ended before the byte that led to it.
    matches: Vec<bool>,
    /// The first state, by the byte before; the last is for the edge of the text.
    starts: Vec<u16>,
}

/// States by their number.
struct NumberedStates {
    numbers: HashMap<LazyStateID, u16>,
    states: Vec<LazyStateID>,
}

impl NumberedStates {
    fn number(&mut self, state: LazyStateID) -> Option<u16> {
        if state.is_dead() {
            return Some(DEAD);
        }
        if state.is_quit() || state.is_unknown() {
            return None;
        }
        if let Some(number) = self.numbers.get(&state) {
            return Some(*number);
        }
        if self.states.len() > MAX_STATES {
            return None;
        }
        self.states.push(state);
        // The dead state comes before them.
        let number = u16::try_from(self.states.len()).ok()?;
        self.numbers.insert(state, number);
        Some(number)
    }
}

impl StateTable {
    /// Follows every way through an automaton.
    pub(super) fn new(
        nfa: NFA,
        kind: MatchKind,
        anchored: Anchored,
        work: &mut StepsLeft,
    ) -> Result<Self, Odd> {
        let nfa_states = nfa.states().len();
        let config = dfa::Config::new()
            .match_kind(kind)
            .cache_capacity(ROOM)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa);
        let dfa = dfa.map_err(|_| Odd::Large)?;
        let mut cache = dfa.create_cache();
        let empty = cache.memory_usage();
        let mut numbered = NumberedStates { numbers: HashMap::new(), states: Vec::new() };
        let mut starts = Vec::with_capacity(257);
        for before in (0..=u8::MAX).map(Some).chain([None]) {
            let at = start::Config::new().look_behind(before).anchored(anchored);
            let state = dfa.start_state(&mut cache, &at).map_err(|_| Odd::Large)?;
            starts.push(numbered.number(state).ok_or(Odd::Large)?);
        }
        let classes = dfa.byte_classes();
        let firsts = first_bytes(classes);
        let width = firsts.len() + 1;
        let row = size_of::<LazyStateID>() << classes.stride2();
        // From the dead state every byte leads back to it.
        let mut next = vec![DEAD; width];
        let mut matches = vec![false];
        let mut index = 0;
        while let Some(&state) = numbered.states.get(index) {
            // A step is to look at one of the automaton's states that a state stands for. How many
            // these are shows in the memory of all states.
            let bytes = (cache.memory_usage() - empty.min(cache.memory_usage()))
                / numbered.states.len().max(1);
            let stands_for = (bytes.saturating_sub(row + BESIDE) / BYTES_EACH).min(nfa_states);
            work.take((width * (stands_for + 4)) as u64)?;
            let mut to = |state: Result<LazyStateID, _>| {
                let number = state.ok().and_then(|state| numbered.number(state));
                next.push(number.ok_or(Odd::Large)?);
                Ok::<_, Odd>(())
            };
            for &byte in &firsts {
                to(dfa.next_state(&mut cache, state, byte))?;
            }
            to(dfa.next_eoi_state(&mut cache, state))?;
            matches.push(state.is_match());
            index += 1;
        }
        let classes = std::array::from_fn(|byte| classes.get(byte as u8));
        let table = Self { classes, width, next, matches, starts };
        if whole(&cache) { Ok(table) } else { Err(Odd::Large) }
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        2 * self.next.len()
    }

    fn after(&self, state: u16, byte: u8) -> u16 {
        let class = self.classes.get(usize::from(byte)).copied().map_or(0, usize::from);
        self.next.get(usize::from(state) * self.width + class).copied().unwrap_or(DEAD)
    }

    /// The state after the edge of the text.
    fn ended(&self, state: u16) -> u16 {
        self.next.get(usize::from(state) * self.width + self.width - 1).copied().unwrap_or(DEAD)
    }

    fn is_match(&self, state: u16) -> bool {
        self.matches.get(usize::from(state)).copied().unwrap_or(false)
    }

    fn start(&self, beside: Option<u8>) -> u16 {
        self.starts.get(beside.map_or(256, usize::from)).copied().unwrap_or(DEAD)
    }

    /// Where the first match from `from` on ends; with `any`, where some match does.
    pub(super) fn first(
        &self,
        text: &[u8],
        from: usize,
        any: bool,
        looks: &mut usize,
    ) -> Option<usize> {
        let before = from.checked_sub(1).and_then(|at| text.get(at)).copied();
        let mut state = self.start(before);
        let mut end = None;
        for (at, &byte) in text.iter().enumerate().skip(from) {
            *looks += 1;
            state = self.after(state, byte);
            if self.is_match(state) {
                end = Some(at);
                if any {
                    return end;
                }
            } else if state == DEAD {
                return end;
            }
        }
        if self.is_match(self.ended(state)) { Some(text.len()) } else { end }
    }

    /// Where the longest match that ends at `end` begins, from `from` on. The table is of the
    /// pattern backwards.
    pub(super) fn last(
        &self,
        text: &[u8],
        from: usize,
        end: usize,
        looks: &mut usize,
    ) -> Option<usize> {
        let mut state = self.start(text.get(end).copied());
        let mut start = None;
        let mut at = end;
        while at > from {
            let byte = text.get(at - 1).copied()?;
            *looks += 1;
            state = self.after(state, byte);
            if self.is_match(state) {
                start = Some(at);
            } else if state == DEAD {
                return start;
            }
            at -= 1;
        }
        // The byte before says whether a match may begin here.
        let state = match from.checked_sub(1).and_then(|before| text.get(before)) {
            Some(&before) => self.after(state, before),
            None => self.ended(state),
        };
        if self.is_match(state) { Some(from) } else { start }
    }
}

/// A byte of each class, in their order.
fn first_bytes(classes: &ByteClasses) -> Vec<u8> {
    let mut firsts = Vec::new();
    for byte in 0..=u8::MAX {
        if usize::from(classes.get(byte)) == firsts.len() {
            firsts.push(byte);
        }
    }
    firsts
}

/// Whether the cache forgot no state on the way, so that each still has its number.
fn whole(cache: &Cache) -> bool {
    cache.clear_count() == 0
}
