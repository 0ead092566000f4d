//! A [`PrivateQuery`](hushtable_plan::PrivateQuery) to its [`Quote`]: calibrated mechanisms and
//! their loss, what explains them, intervals of released values, and tables that fit each other.
//! Pure: reads nothing of the data.

mod best_limit;
mod consistent;
mod deciding_count;
mod drawn_together;
mod explain;
mod group_size;
mod identity;
mod interval;
mod measurement_noise;
mod objective;
mod quote;
mod runner_up;
mod tie;

pub use best_limit::{chosen_limits, learnt_bounds};
pub use consistent::{
    AdjustOptions, AdjustedMeasurement, AdjustedNoise, ConsistentPrecision, LeastSquares,
    LevelCells, QuotedLevels, adjust, fit,
};
pub use drawn_together::{Joint, QuantileReach};
pub use explain::{
    ChoiceExplanation, ClassExplanation, ClassThreshold, ClassesExplanation, EpsilonAt,
    ExchangeExplanation, Explanation, GroupsExplanation, HalfWidth, INTERVAL_LEVEL,
    IntervalExplanation, IntervalsExplanation, JoinExplanation, JoinLimitExplanation,
    JointExplanation, JointPolicy, JointTerm, KeepProbability, LimitExplanation,
    MeasurementExplanation, MechanismComparison, MechanismsExplanation, MechanismsOnData, Met,
    OutputExplanation, PerRowExplanation, PolicyExample, PolicyExplanation, PolicyTermExplanation,
    PrecisionExplanation, PrivateGroups, QuantileExplanation, ReachExplanation, RecordContribution,
    RoundExplanation, SimultaneousInterval, SizeQuantile, TighterLimit, WholePieces, policy_of,
    policy_of_noise, rho_at,
};
pub use group_size::GroupSize;
pub use hushtable_mechanisms::Strategy;
pub use interval::{
    IntervalCoverage, Intervals, KnownOperand, NoInterval, ReleasedRow, interval_over,
};
pub use measurement_noise::{Noise, NoiseByClass};
pub use objective::Usefulness;
pub use quote::{Quote, least_loss};
pub use runner_up::RunnerUp;
pub use tie::TiedMeasurement;
