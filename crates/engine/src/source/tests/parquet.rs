//! Parquet files written by Arrow.

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::{Float16Type, Int8Type, Int32Type, UInt64Type, i256};
use hushtable_lang::MAX_STRING_BYTES;

use super::*;
use ColumnType::{Bool, Date, Float, Int, String as Text, Timestamp};

const DAY: i64 = 86_400_000_000;

#[test]
fn integers() {
    let folder = tempfile::tempdir().unwrap();
    let path = one_column(&folder, UInt64Array::from(vec![Some(u64::MAX), Some(7), None, Some(0)]));
    assert_eq!(ints(&read_as(&path, "x", Int)), [None, Some(7), None, Some(0)]);
    let max = i128::from(u64::MAX) * 100;
    assert_eq!(digits(&read_as(&path, "x", decimal(2))), [Some(max), Some(700), None, Some(0)]);
    assert_eq!(strings(&read_as(&path, "x", Text))[..2], [Some("18446744073709551615"), Some("7")]);
    assert_eq!(bools(&read_as(&path, "x", Bool)), [Some(true), Some(true), None, Some(false)]);
    let float = Some((u64::MAX as f64).to_bits());
    assert_eq!(floats(&read_as(&path, "x", Float))[0], float);

    let path = one_column(&folder, Int8Array::from(vec![-128, 127]));
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(-128), Some(127)]);
    assert_eq!(digits(&read_as(&path, "x", decimal(18)))[0], Some(-128 * 10_i128.pow(18)));
    let path = one_column(&folder, UInt8Array::from(vec![u8::MAX]));
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(i64::from(u8::MAX))]);
    let path = one_column(&folder, Int16Array::from(vec![i16::MIN]));
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(i64::from(i16::MIN))]);
    let path = one_column(&folder, UInt32Array::from(vec![u32::MAX]));
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(i64::from(u32::MAX))]);
    let path = one_column(&folder, Int64Array::from(vec![i64::MIN, i64::MAX]));
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(i64::MIN), Some(i64::MAX)]);
    let wide = i128::from(i64::MIN) * 10_i128.pow(18);
    assert_eq!(digits(&read_as(&path, "x", decimal(18)))[0], Some(wide));
}

#[test]
fn floats_and_booleans() {
    let folder = tempfile::tempdir().unwrap();
    let values = [f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -f64::NAN];
    let path = one_column(&folder, Float64Array::from(values.to_vec()));
    let bits = |v: f64| Some(v.to_bits());
    let infinite = f64::INFINITY;
    assert_eq!(
        floats(&read_as(&path, "x", Float)),
        [None, bits(0.0), bits(infinite), bits(-infinite), bits(f64::MIN_POSITIVE), None]
    );
    let path = one_column(&folder, Float32Array::from(vec![f32::NAN, -0.0, 1.5]));
    assert_eq!(floats(&read_as(&path, "x", Float)), [None, bits(0.0), bits(1.5)]);
    let half =
        PrimitiveArray::<Float16Type>::from_iter_values([f32::NAN, -0.0, 1.5].map(Half::from_f32));
    let path = one_column(&folder, half);
    assert_eq!(floats(&read_as(&path, "x", Float)), [None, bits(0.0), bits(1.5)]);
    for to in [Int, decimal(2), Text, Bool, Date] {
        assert!(refused(&path, "x", to).contains("declare it as `float`"));
    }

    let path = one_column(&folder, BooleanArray::from(vec![Some(true), None, Some(false)]));
    assert_eq!(bools(&read_as(&path, "x", Bool)), [Some(true), None, Some(false)]);
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(1), None, Some(0)]);
    assert_eq!(strings(&read_as(&path, "x", Text)), [Some("true"), None, Some("false")]);
    assert!(refused(&path, "x", Date).contains("`bool`"));
}

/// A half float without naming the crate it is of.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

#[test]
fn decimals() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 10_i128.pow(38) - 1;
    let array = Decimal128Array::from(vec![Some(limit), Some(-limit), Some(5), None]);
    let path = one_column(&folder, array.with_precision_and_scale(38, 2).unwrap());
    assert_eq!(
        digits(&read_as(&path, "x", decimal(2))),
        [Some(limit), Some(-limit), Some(5), None]
    );
    assert_eq!(digits(&read_as(&path, "x", decimal(3))), [None, None, Some(50), None]);
    assert_eq!(floats(&read_as(&path, "x", Float))[2], Some(0.05_f64.to_bits()));
    assert!(refused(&path, "x", decimal(1)).contains("declare it as `decimal(2)`"));
    assert!(refused(&path, "x", Int).contains("decimal(38, 2)"));

    let array = Decimal128Array::from(vec![i128::from(i64::MAX), i128::from(i64::MAX) + 1]);
    let path = one_column(&folder, array.with_precision_and_scale(30, 0).unwrap());
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(i64::MAX), None]);
    // Fits 32 bits of the file, but has more digits than its type says.
    let array = Decimal128Array::from(vec![1_234_567_890]).with_precision_and_scale(9, 2).unwrap();
    let path = one_column(&folder, array);
    assert_eq!(digits(&read_as(&path, "x", decimal(2))), [Some(1_234_567_890)]);
    let array = Decimal64Array::from(vec![-12]).with_precision_and_scale(18, 1).unwrap();
    let path = one_column(&folder, array);
    assert_eq!(digits(&read_as(&path, "x", decimal(4))), [Some(-12_000)]);

    let array = Decimal256Array::from(vec![i256::MAX, i256::MIN, i256::from_i128(-77)]);
    let path = one_column(&folder, array.with_precision_and_scale(76, 4).unwrap());
    assert_eq!(digits(&read_as(&path, "x", decimal(4))), [None, None, Some(-77)]);
    assert_eq!(floats(&read_as(&path, "x", Float)), [None, None, Some((-0.0077_f64).to_bits())]);
}

#[test]
fn dates_and_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    let extremes = vec![i64::MIN, -1, 0, i64::MAX];
    let path = one_column(&folder, TimestampSecondArray::from(extremes.clone()));
    assert_eq!(micros(&read_as(&path, "x", Timestamp)), [None, Some(-1_000_000), Some(0), None]);
    assert_eq!(days(&read_as(&path, "x", Date)), [None, Some(-1), Some(0), None]);
    let path = one_column(&folder, TimestampMillisecondArray::from(extremes.clone()));
    assert_eq!(micros(&read_as(&path, "x", Timestamp)), [None, Some(-1000), Some(0), None]);
    assert_eq!(days(&read_as(&path, "x", Date)), [None, Some(-1), Some(0), None]);
    let zoned = TimestampMicrosecondArray::from(extremes.clone()).with_timezone("Not/AZone");
    let path = one_column(&folder, zoned);
    // Dates are those of the years 1 to 9999.
    assert_eq!(micros(&read_as(&path, "x", Timestamp)), [None, Some(-1), Some(0), None]);
    assert_eq!(days(&read_as(&path, "x", Date)), [None, Some(-1), Some(0), None]);
    let (first, last) = (-719_162, 2_932_896);
    let ends = [first - 1, first, last, last + 1].map(|day| i64::from(day) * DAY);
    let path_of_ends = one_column(&folder, TimestampMicrosecondArray::from(ends.to_vec()));
    let kept = [None, Some(i64::from(first) * DAY), Some(i64::from(last) * DAY), None];
    assert_eq!(micros(&read_as(&path_of_ends, "x", Timestamp)), kept);
    assert_eq!(days(&read_as(&path_of_ends, "x", Date)), [None, Some(first), Some(last), None]);
    let path = one_column(&folder, TimestampNanosecondArray::from(extremes.clone()));
    let down = |v: i64| Some(v.div_euclid(1000));
    let expected = [down(i64::MIN), Some(-1), Some(0), down(i64::MAX)];
    assert_eq!(micros(&read_as(&path, "x", Timestamp)), expected);
    assert_eq!(
        days(&read_as(&path, "x", Date)),
        [Some(-106_752), Some(-1), Some(0), Some(106_751)]
    );
    assert!(refused(&path, "x", Int).contains("timestamp(ns)"));

    let path = one_column(&folder, Date32Array::from(vec![i32::MIN, 1, i32::MAX]));
    assert_eq!(days(&read_as(&path, "x", Date)), [None, Some(1), None]);
    assert_eq!(micros(&read_as(&path, "x", Timestamp)), [None, Some(DAY), None]);
    let path = one_column(&folder, Date64Array::from(vec![i64::MIN, -1, 86_400_000, i64::MAX]));
    assert_eq!(days(&read_as(&path, "x", Date)), [None, Some(-1), Some(1), None]);
    assert_eq!(micros(&read_as(&path, "x", Timestamp)), [None, Some(-1000), Some(DAY), None]);
    assert!(refused(&path, "x", Bool).contains("declare it as `date`"));
}

#[test]
fn text_of_every_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let fits = "é".repeat(MAX_STRING_BYTES / 2);
    let long = format!("{fits}x");
    let values =
        vec![Some("12"), Some(""), None, Some(fits.as_str()), Some(long.as_str()), Some("12")];
    let arrays: [ArrayRef; 5] = [
        Arc::new(StringArray::from(values.clone())),
        Arc::new(LargeStringArray::from(values.clone())),
        Arc::new(StringViewArray::from(values.clone())),
        Arc::new(values.iter().copied().collect::<DictionaryArray<Int8Type>>()),
        Arc::new(values.iter().copied().collect::<DictionaryArray<UInt64Type>>()),
    ];
    for array in arrays {
        let path = folder.path().join("one.parquet");
        write_parquet(&path, &[("x", array)], None);
        let column = read_as(&path, "x", Text);
        let expected = [Some("12"), Some(""), None, Some(fits.as_str()), None, Some("12")];
        assert_eq!(strings(&column), expected);
        let expected = [Some(12), None, None, None, None, Some(12)];
        assert_eq!(ints(&read_as(&path, "x", Int)), expected);
        assert_eq!(digits(&read_as(&path, "x", decimal(1)))[0], Some(120));
        for to in [Bool, Float, Date, Timestamp] {
            assert_eq!(read_as(&path, "x", to).len(), 6);
        }
    }
    let numbers = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(1), None, Some(0)]),
        Arc::new(Int64Array::from(vec![5, -6])),
    );
    let path = one_column(&folder, numbers);
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(-6), None, Some(5)]);
    let path = one_column(&folder, NullArray::new(3));
    for to in [Bool, Int, decimal(1), Float, Text, Date, Timestamp] {
        assert_eq!(read_as(&path, "x", to).null_count(), 3);
    }
}
