//! The closest bounds, by linear programming.

use std::collections::{BTreeMap, HashSet};

use microlp::{
    ComparisonOp, Error, OptimizationDirection, Problem, SolutionStatus, SolveOptions, Variable,
};

use super::PublishedTables;
use super::bounds::{CountBounds, NONE};
use crate::error::KnowledgeError;

/// Most blocks in one linear programme.
const MOST_BLOCKS: usize = 2_000;

/// Up to this number of blocks, counts are taken to be whole numbers; with more, any numbers, which
/// gives bounds that hold and may be wider.
const WHOLE_BLOCKS: usize = 60;

/// Most blocks of all programmes together.
const WORK: usize = 2_000_000;

/// Larger counts are no integer variables.
const LARGEST: u64 = 1_000_000;

/// Programmes that take more steps are given up.
const NODES: u64 = 2_000;

/// The largest distance of a solution from a whole number.
const TOLERANCE: f64 = 1e-5;

/// Blocks that cells tie to each other, and to no others, once settled counts are taken out.
struct Component {
    blocks: Vec<u32>,
    /// Sums of its blocks, with what they come to beside the fixed ones.
    sums: Vec<(Vec<u32>, i64, i64)>,
    targets: Vec<BoundTarget>,
}

/// The object of a bound: a suppressed cell, by its index among the sums, or a block.
struct BoundTarget {
    cell: Option<usize>,
    blocks: Vec<u32>,
    fixed: i64,
}

/// Tightens the bounds of suppressed cells and of blocks as far as possible, and says whether that
/// was possible for all.
///
/// # Errors
/// If no table agrees with what is published.
pub(super) fn tighten(
    published: &PublishedTables,
    bounds: &mut CountBounds,
) -> Result<bool, KnowledgeError> {
    let mut left = WORK;
    let mut complete = true;
    for component in components(published, bounds) {
        if component.blocks.len() > MOST_BLOCKS {
            complete = false;
            continue;
        }
        // A count that some agreeing table has, as a solution showed, needs no programme.
        let mut attained = vec![(i64::MAX, i64::MIN); component.targets.len()];
        for index in 0..component.targets.len() {
            for direction in [OptimizationDirection::Minimize, OptimizationDirection::Maximize] {
                let (low, high) = now(&component.targets[index], bounds);
                let (least, most) = attained[index];
                let minimise = direction == OptimizationDirection::Minimize;
                if low == high || (minimise && least <= low) || (!minimise && most >= high) {
                    continue;
                }
                if left < component.blocks.len() {
                    complete = false;
                    continue;
                }
                left -= component.blocks.len();
                match optimum(&component, index, bounds, direction)? {
                    Some(Optimum { count, table }) => {
                        narrow(&component.targets[index], bounds, minimise, count);
                        if let Some(table) = table.filter(|table| component.agrees(table)) {
                            for (target, attained) in component.targets.iter().zip(&mut attained) {
                                let count = target.count(&table);
                                *attained = (attained.0.min(count), attained.1.max(count));
                            }
                        }
                    }
                    None => complete = false,
                }
            }
        }
    }
    Ok(complete)
}

/// The least or largest count of a target.
struct Optimum {
    count: i64,
    /// A table that has it, if the solution is in whole numbers.
    table: Option<BTreeMap<u32, i64>>,
}

impl Component {
    fn agrees(&self, table: &BTreeMap<u32, i64>) -> bool {
        self.sums.iter().all(|(blocks, low, high)| {
            let sum: i64 = blocks.iter().filter_map(|block| table.get(block)).sum();
            (*low..=*high).contains(&sum)
        })
    }
}

impl BoundTarget {
    fn count(&self, table: &BTreeMap<u32, i64>) -> i64 {
        self.fixed + self.blocks.iter().filter_map(|block| table.get(block)).sum::<i64>()
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn now(target: &BoundTarget, bounds: &CountBounds) -> (i64, i64) {
    let count = match (target.cell, target.blocks.as_slice()) {
        (Some(cell), _) => bounds.sums[cell].count,
        (None, blocks) => bounds.block(blocks.first().copied().unwrap_or(u32::MAX)),
    };
    (signed(count.low), signed(count.high))
}

fn narrow(target: &BoundTarget, bounds: &mut CountBounds, minimise: bool, bound: i64) {
    let bound = u64::try_from(bound).unwrap_or(0);
    let count = match (target.cell, target.blocks.as_slice()) {
        (Some(cell), _) => &mut bounds.sums[cell].count,
        (None, [block]) => &mut bounds.blocks[*block as usize],
        (None, _) => return,
    };
    if minimise {
        count.low = count.low.max(bound);
    } else {
        count.high = count.high.min(bound);
    }
}

/// The blocks whose counts are not settled, by what ties them together.
fn components(published: &PublishedTables, bounds: &CountBounds) -> Vec<Component> {
    let open = |block: &u32| {
        let count = bounds.block(*block);
        count.low < count.high
    };
    let mut root: Vec<u32> = (0..u32::try_from(published.blocks).unwrap_or(u32::MAX)).collect();
    let find = |root: &mut Vec<u32>, mut block: u32| {
        while root[block as usize] != block {
            root[block as usize] = root[root[block as usize] as usize];
            block = root[block as usize];
        }
        block
    };
    for cell in &published.cells {
        let mut blocks = cell.blocks.iter().filter(|block| open(block));
        if let Some(&first) = blocks.next() {
            for &block in blocks {
                let (a, b) = (find(&mut root, first), find(&mut root, block));
                root[a as usize] = b;
            }
        }
    }
    // Blocks that are bounded as cells.
    let alone = published.cells.iter().filter(|cell| cell.blocks.len() == 1);
    let alone: HashSet<u32> = alone.map(|cell| cell.blocks[0]).collect();
    let mut components: BTreeMap<u32, Component> = BTreeMap::new();
    for block in (0..root.len() as u32).filter(|block| open(block)) {
        let component = components.entry(find(&mut root, block)).or_insert_with(|| Component {
            blocks: Vec::new(),
            sums: Vec::new(),
            targets: Vec::new(),
        });
        component.blocks.push(block);
        if bounds.block(block).high < NONE && !alone.contains(&block) {
            component.targets.push(BoundTarget { cell: None, blocks: vec![block], fixed: 0 });
        }
    }
    let mut suppressed = 0;
    for cell in &published.cells {
        let (settled, blocks): (Vec<u32>, Vec<u32>) = cell.blocks.iter().partition(|p| !open(p));
        let fixed = signed(settled.iter().map(|block| bounds.block(*block).low).sum());
        let sum_index = (!cell.count.is_exact()).then_some(suppressed);
        suppressed += usize::from(sum_index.is_some());
        let Some(first) = blocks.first() else { continue };
        let Some(component) = components.get_mut(&find(&mut root, *first)) else { continue };
        let (low, high) = (signed(cell.count.low) - fixed, signed(cell.count.high) - fixed);
        component.sums.push((blocks.clone(), low, high));
        if sum_index.is_some() {
            component.targets.push(BoundTarget { cell: sum_index, blocks, fixed });
        }
    }
    components.into_values().collect()
}

/// The least or largest count; `None` if the solver gives none.
fn optimum(
    component: &Component,
    target: usize,
    bounds: &CountBounds,
    direction: OptimizationDirection,
) -> Result<Option<Optimum>, KnowledgeError> {
    let target = &component.targets[target];
    let minimise = direction == OptimizationDirection::Minimize;
    let mut problem = Problem::new(direction);
    let mut variables: BTreeMap<u32, Variable> = BTreeMap::new();
    let whole = component.blocks.len() <= WHOLE_BLOCKS;
    for &block in &component.blocks {
        let count = bounds.block(block);
        let factor = if target.blocks.contains(&block) { 1.0 } else { 0.0 };
        let ends = (i32::try_from(count.low), i32::try_from(count.high));
        let variable = match ends {
            (Ok(low), Ok(high)) if whole && count.high <= LARGEST => {
                problem.add_integer_var(factor, (low, high))
            }
            _ => {
                let high = if count.high >= NONE { f64::INFINITY } else { count.high as f64 };
                problem.add_var(factor, (count.low as f64, high))
            }
        };
        variables.insert(block, variable);
    }
    for (blocks, low, high) in &component.sums {
        let sum: Vec<(Variable, f64)> =
            blocks.iter().filter_map(|block| Some((*variables.get(block)?, 1.0))).collect();
        if low == high {
            problem.add_constraint(&sum, ComparisonOp::Eq, *low as f64);
        } else {
            problem.add_constraint(&sum, ComparisonOp::Ge, *low as f64);
            problem.add_constraint(&sum, ComparisonOp::Le, *high as f64);
        }
    }
    let mut options = SolveOptions::default();
    options.node_limit = Some(NODES);
    let solution = match problem.solve_with(options) {
        Ok(outcome) => match outcome.into_solution() {
            Ok(solution) if solution.status() == SolutionStatus::Optimal => solution,
            _ => return Ok(None),
        },
        Err(Error::Infeasible) => return Err(KnowledgeError::Contradiction { cells: Vec::new() }),
        Err(_) => return Ok(None),
    };
    let value = solution.objective();
    // Outwards: a bound must hold.
    let bound = if minimise { (value - TOLERANCE).ceil() } else { (value + TOLERANCE).floor() };
    let table: Option<BTreeMap<u32, i64>> = variables
        .iter()
        .map(|(block, variable)| {
            let value = solution.var_value(*variable);
            let near = (value - value.round()).abs() < TOLERANCE;
            near.then_some((*block, value.round() as i64))
        })
        .collect();
    Ok(Some(Optimum { count: bound as i64 + target.fixed, table }))
}
