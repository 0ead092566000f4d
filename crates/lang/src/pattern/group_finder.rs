//! Where the groups of a match are, in two passes over it, whatever the pattern.
//!
//! A pattern may take a character in several ways: in `(.*)@(.*)` each `@` can be the one of the
//! pattern. Which way it takes is known from the end: the first pass goes from the end of the match
//! to its start and notes at each byte which states of the automaton lead to that end; the second
//! goes from the start, and of the ways that a state has takes the first that leads there. That is
//! the way that a search by trial and error finds. Both follow tables that are complete before a
//! query is accepted.

use std::collections::HashMap;
use std::ops::Range;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::MAX_GROUPS;
use super::prepared::StepsLeft;

/// Most sets of states.
const MAX_SETS: usize = 1_000;
/// Most cells of a table.
const MAX_CELLS: usize = 1 << 18;
/// Most steps to fill the tables.
const MAX_WORK: usize = 1_000_000;

/// Nothing leads on from here.
const NOWHERE: u16 = u16::MAX;

/// Where groups begin and end: two slots for each.
pub(super) type Slots = [Option<usize>; 2 * (MAX_GROUPS + 1)];

/// Tables that find the groups of a match.
pub(super) struct GroupFinder {
    /// The class of each byte.
    classes: [u8; 256],
    /// How many classes there are.
    width: usize,
    /// The kind of each byte, as assertions see it.
    kinds: [u8; 256],
    /// The kind of the edge of the text.
    edge: u8,
    /// How many kinds there are.
    many_kinds: usize,
    /// The set at the end of a match, by the kind of what is after it.
    ends: Vec<u16>,
    /// The set before a byte, by the set after it and the byte's class.
    before: Vec<u16>,
    /// The entry that a state goes to by a byte, by the state and the byte's class.
    reads: Vec<u16>,
    /// How many entries there are.
    entries: usize,
    /// The way on, by the set behind, the kind before, and the entry.
    steps: Vec<u16>,
    ways: Vec<StateStep>,
    /// The slots that ways pass.
    slots: Vec<u8>,
}

/// The way from an entry to the state that reads the next byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct StateStep {
    state: u16,
    /// The slots that it passes: from, to.
    passed: (u32, u32),
}

/// The kinds of characters beside a position that assertions such as `^` and `\b` distinguish.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Other,
    Word,
    LineFeed,
    Return,
    Edge,
}

impl CharacterKind {
    fn of(byte: u8) -> Self {
        match byte {
            b'\n' => Self::LineFeed,
            b'\r' => Self::Return,
            b'_' => Self::Word,
            _ if byte.is_ascii_alphanumeric() => Self::Word,
            _ => Self::Other,
        }
    }

    /// A text of that kind.
    fn example(self) -> &'static [u8] {
        match self {
            Self::Other => b" ",
            Self::Word => b"a",
            Self::LineFeed => b"\n",
            Self::Return => b"\r",
            Self::Edge => b"",
        }
    }
}

/// The states that lead from a position to the end of the match, in order, and the kind of what is
/// after the position.
type StateSet = (Vec<StateID>, u8);

/// The tables while they are filled.
struct Builder<'a> {
    nfa: &'a NFA,
    classes: [u8; 256],
    /// A byte of each class.
    examples: Vec<u8>,
    /// The sides that differ for this pattern.
    sides: Vec<CharacterKind>,
    /// States that read a byte or are the end.
    readers: Vec<StateID>,
    /// Where states go by a byte, and first the start.
    entries: Vec<StateID>,
    reads: Vec<u16>,
    sets: Vec<StateSet>,
    set_numbers: HashMap<StateSet, u16>,
    /// The search in which a state was seen last.
    seen: Vec<usize>,
    search: usize,
    work: usize,
}

impl GroupFinder {
    /// Fills the tables of an automaton with groups; `None` where they would be large.
    pub(super) fn new(nfa: &NFA, work: &mut StepsLeft) -> Option<Self> {
        let mut builder = Builder::new(nfa);
        let finder = Self::filled(&mut builder);
        work.take(builder.work as u64).ok()?;
        finder
    }

    fn filled(builder: &mut Builder<'_>) -> Option<Self> {
        let nfa = builder.nfa;
        builder.read()?;
        let is_end = |id: &&StateID| matches!(nfa.state(**id), State::Match { .. });
        let end: Vec<StateID> = builder.readers.iter().filter(is_end).copied().collect();
        let many_kinds = builder.sides.len();
        let end_of = |kind: usize| builder.set_number((end.clone(), u8::try_from(kind).ok()?));
        let ends = (0..many_kinds).map(end_of).collect::<Option<Vec<u16>>>()?;
        let width = builder.examples.len();
        let mut before = Vec::new();
        let mut at = 0;
        while at < builder.sets.len() {
            for class in 0..width {
                let set = builder.set_before(at, class)?;
                before.push(builder.set_number(set)?);
            }
            at += 1;
        }
        let (steps, ways, slots) = builder.steps()?;
        let edge = builder.kind(CharacterKind::Edge);
        let kinds = std::array::from_fn(|byte| builder.kind(CharacterKind::of(byte as u8)));
        let (classes, entries) = (builder.classes, builder.entries.len());
        let reads = std::mem::take(&mut builder.reads);
        Some(Self {
            classes,
            width,
            kinds,
            edge,
            many_kinds,
            ends,
            before,
            reads,
            entries,
            steps,
            ways,
            slots,
        })
    }

    /// Bytes of the tables.
    pub(super) fn bytes(&self) -> usize {
        2 * (self.before.len() + self.steps.len() + self.reads.len())
    }

    /// The slots of a match in a text; `sets` is room for a set at each of its bytes.
    pub(super) fn find(
        &self,
        text: &[u8],
        span: Range<usize>,
        sets: &mut Vec<u16>,
    ) -> Option<Slots> {
        let kind = |at: Option<usize>| match at.and_then(|at| text.get(at)) {
            Some(&byte) => usize::from(self.kinds[usize::from(byte)]),
            None => usize::from(self.edge),
        };
        let class = |byte: u8| usize::from(self.classes[usize::from(byte)]);
        let matched = text.get(span.clone())?;
        sets.clear();
        let mut set = *self.ends.get(kind(Some(span.end)))?;
        sets.push(set);
        for &byte in matched.iter().rev() {
            set = *self.before.get(usize::from(set) * self.width + class(byte))?;
            sets.push(set);
        }
        let mut slots: Slots = [None; 2 * (MAX_GROUPS + 1)];
        let mut entry = 0;
        let mut before = kind(span.start.checked_sub(1));
        for (offset, set) in sets.iter().rev().enumerate() {
            let row = usize::from(*set) * self.many_kinds + before;
            let way = *self.steps.get(row * self.entries + entry)?;
            let StateStep { state, passed: (from, to) } = *self.ways.get(usize::from(way))?;
            if from < to {
                for &slot in self.slots.get(from as usize..to as usize)? {
                    *slots.get_mut(usize::from(slot))? = Some(span.start + offset);
                }
            }
            let Some(&byte) = matched.get(offset) else { break };
            let next = usize::from(state) * self.width + class(byte);
            entry = usize::from(*self.reads.get(next)?);
            before = usize::from(self.kinds[usize::from(byte)]);
        }
        Some(slots)
    }
}

impl<'a> Builder<'a> {
    fn new(nfa: &'a NFA) -> Self {
        let byte_classes = nfa.byte_classes();
        let classes: [u8; 256] = std::array::from_fn(|byte| byte_classes.get(byte as u8));
        let mut examples: Vec<u8> = Vec::new();
        for byte in 0..=u8::MAX {
            if usize::from(classes[usize::from(byte)]) == examples.len() {
                examples.push(byte);
            }
        }
        let looks = nfa.look_set_any();
        let differs = |side: &CharacterKind| match side {
            CharacterKind::Other => true,
            CharacterKind::Word => looks.contains_word(),
            CharacterKind::LineFeed => looks.contains_anchor_line(),
            CharacterKind::Return => looks.contains_anchor_crlf(),
            CharacterKind::Edge => !looks.is_empty(),
        };
        let sides = [
            CharacterKind::Other,
            CharacterKind::Word,
            CharacterKind::LineFeed,
            CharacterKind::Return,
            CharacterKind::Edge,
        ];
        let is_reader = |state: &State| !state.is_epsilon() && !matches!(state, State::Fail);
        let states = nfa.states().iter().enumerate();
        let readers = states.filter(|(_, state)| is_reader(state));
        Self {
            nfa,
            classes,
            examples,
            sides: sides.into_iter().filter(differs).collect(),
            readers: readers.filter_map(|(at, _)| StateID::new(at).ok()).collect(),
            entries: vec![nfa.start_anchored()],
            reads: Vec::new(),
            sets: Vec::new(),
            set_numbers: HashMap::new(),
            seen: vec![0; nfa.states().len()],
            search: 0,
            work: 0,
        }
    }

    /// Counts steps; `None` where there are too many.
    fn spend(&mut self, steps: usize) -> Option<()> {
        self.work += steps;
        (self.work <= MAX_WORK).then_some(())
    }

    /// The number of a side among those that differ.
    fn kind(&self, side: CharacterKind) -> u8 {
        let index = self.sides.iter().position(|other| *other == side);
        index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0)
    }

    /// Notes where each state goes by a byte of each class.
    fn read(&mut self) -> Option<()> {
        self.spend(self.readers.len() * self.examples.len())?;
        let mut numbers = HashMap::from([(self.nfa.start_anchored(), 0)]);
        for id in &self.readers {
            for &byte in &self.examples {
                let next = match self.nfa.state(*id) {
                    State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                    State::Sparse(all) => all.matches_byte(byte),
                    State::Dense(all) => all.matches_byte(byte),
                    _ => None,
                };
                let Some(next) = next else {
                    self.reads.push(NOWHERE);
                    continue;
                };
                let new = u16::try_from(self.entries.len()).ok().filter(|new| *new < NOWHERE)?;
                let number = *numbers.entry(next).or_insert(new);
                if number == new {
                    self.entries.push(next);
                }
                self.reads.push(number);
            }
        }
        (self.reads.len() <= MAX_CELLS).then_some(())
    }

    fn set_number(&mut self, set: StateSet) -> Option<u16> {
        if let Some(number) = self.set_numbers.get(&set) {
            return Some(*number);
        }
        let number = u16::try_from(self.sets.len()).ok()?;
        self.sets.push(set.clone());
        self.set_numbers.insert(set, number);
        (self.sets.len() <= MAX_SETS).then_some(number)
    }

    /// The set before a byte of that class, given the set after it.
    fn set_before(&mut self, behind: usize, class: usize) -> Option<StateSet> {
        self.spend(self.readers.len())?;
        let side = CharacterKind::of(*self.examples.get(class)?);
        let mut leads: Vec<Option<bool>> = vec![None; self.entries.len()];
        let mut states = Vec::new();
        for reader in 0..self.readers.len() {
            let entry = *self.reads.get(reader * self.examples.len() + class)?;
            if entry == NOWHERE {
                continue;
            }
            let entry = usize::from(entry);
            let leads_on = match *leads.get(entry)? {
                Some(leads_on) => leads_on,
                None => self.way(behind, side, entry)?.is_some(),
            };
            *leads.get_mut(entry)? = Some(leads_on);
            if leads_on {
                states.push(*self.readers.get(reader)?);
            }
        }
        Some((states, self.kind(side)))
    }

    /// The first way from an entry to a state of the set, and the slots that it passes; the outer
    /// `None` is for too much work.
    fn way(
        &mut self,
        set: usize,
        side: CharacterKind,
        entry: usize,
    ) -> Option<Option<(StateID, Vec<u8>)>> {
        self.search += 1;
        let (states, behind) = self.sets.get(set)?;
        let (before, behind) = (side.example(), self.sides.get(usize::from(*behind))?.example());
        let beside = [before, behind].concat();
        // The branches left to try, the first on top, and how many slots are passed before each.
        let mut open = vec![(*self.entries.get(entry)?, 0)];
        let mut passed: Vec<u8> = Vec::new();
        let mut steps = 0;
        let result = loop {
            let Some((id, many)) = open.pop() else { break None };
            steps += 1;
            passed.truncate(many);
            let seen = self.seen.get_mut(id.as_usize())?;
            if std::mem::replace(seen, self.search) == self.search {
                continue;
            }
            match self.nfa.state(id) {
                State::Look { look, next }
                    if self.nfa.look_matcher().matches(*look, &beside, before.len()) =>
                {
                    open.push((*next, passed.len()));
                }
                State::Union { alternates } => {
                    open.extend(alternates.iter().rev().map(|next| (*next, passed.len())));
                }
                State::BinaryUnion { alt1, alt2 } => {
                    open.extend([(*alt2, passed.len()), (*alt1, passed.len())]);
                }
                State::Capture { next, slot, .. } => {
                    passed.push(u8::try_from(slot.as_usize()).ok()?);
                    open.push((*next, passed.len()));
                }
                _ if states.binary_search(&id).is_ok() => break Some((id, passed)),
                _ => {}
            }
        };
        self.spend(steps)?;
        Some(result)
    }

    /// The ways on from each set, kind and entry.
    fn steps(&mut self) -> Option<(Vec<u16>, Vec<StateStep>, Vec<u8>)> {
        let cells = self.sets.len() * self.sides.len() * self.entries.len();
        if cells > MAX_CELLS {
            return None;
        }
        let (mut steps, mut ways, mut slots) = (Vec::with_capacity(cells), Vec::new(), Vec::new());
        let mut numbers: HashMap<(StateID, Vec<u8>), u16> = HashMap::new();
        for set in 0..self.sets.len() {
            for side in self.sides.clone() {
                for entry in 0..self.entries.len() {
                    let Some(way) = self.way(set, side, entry)? else {
                        steps.push(NOWHERE);
                        continue;
                    };
                    if let Some(number) = numbers.get(&way) {
                        steps.push(*number);
                        continue;
                    }
                    let number = u16::try_from(ways.len()).ok().filter(|new| *new < NOWHERE)?;
                    let state = u16::try_from(self.readers.binary_search(&way.0).ok()?).ok()?;
                    let from = u32::try_from(slots.len()).ok()?;
                    slots.extend(&way.1);
                    let passed = (from, u32::try_from(slots.len()).ok()?);
                    ways.push(StateStep { state, passed });
                    numbers.insert(way, number);
                    steps.push(number);
                }
            }
        }
        Some((steps, ways, slots))
    }
}
