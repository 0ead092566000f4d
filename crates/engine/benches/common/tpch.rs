//! TPC-H: its tables as Parquet files, a contract for them, and its queries with bounds.

use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{CsvReadOptions, SessionContext};
use futures::StreamExt;
use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen::q_and_a::queries::query;
use tpchgen::text::TextPool;

/// Bytes of the text from which comments are cut; the standard's 300 MiB take long to make.
const TEXT: i32 = 4 << 20;

/// A table: its name, how it holds units, and its columns with their types in the contract.
type Table = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The customer is the unit of orders and, through these, of their lines; the supplier is the unit
/// of what it offers; everything else is public.
const TABLES: [Table; 8] = [
    (
        "customer",
        "unit = { of = \"customer\", column = \"c_custkey\" }",
        &[
            ("c_custkey", "int"),
            ("c_name", "string"),
            ("c_address", "string"),
            ("c_nationkey", "int"),
            ("c_phone", "string"),
            ("c_acctbal", "decimal(2)"),
            ("c_mktsegment", "string"),
            ("c_comment", "string"),
        ],
    ),
    (
        "orders",
        "unit = { of = \"customer\", column = \"o_custkey\" }",
        &[
            ("o_orderkey", "int"),
            ("o_custkey", "int"),
            ("o_orderstatus", "string"),
            ("o_totalprice", "decimal(2)"),
            ("o_orderdate", "date"),
            ("o_orderpriority", "string"),
            ("o_clerk", "string"),
            ("o_shippriority", "int"),
            ("o_comment", "string"),
        ],
    ),
    (
        "lineitem",
        "unit = { of = \"customer\", through = { column = \"l_orderkey\", \
         references = \"orders.o_orderkey\" } }",
        &[
            ("l_orderkey", "int"),
            ("l_partkey", "int"),
            ("l_suppkey", "int"),
            ("l_linenumber", "int"),
            ("l_quantity", "decimal(2)"),
            ("l_extendedprice", "decimal(2)"),
            ("l_discount", "decimal(2)"),
            ("l_tax", "decimal(2)"),
            ("l_returnflag", "string"),
            ("l_linestatus", "string"),
            ("l_shipdate", "date"),
            ("l_commitdate", "date"),
            ("l_receiptdate", "date"),
            ("l_shipinstruct", "string"),
            ("l_shipmode", "string"),
            ("l_comment", "string"),
        ],
    ),
    (
        "partsupp",
        "unit = { of = \"supplier\", column = \"ps_suppkey\" }",
        &[
            ("ps_partkey", "int"),
            ("ps_suppkey", "int"),
            ("ps_availqty", "int"),
            ("ps_supplycost", "decimal(2)"),
            ("ps_comment", "string"),
        ],
    ),
    (
        "part",
        "public = true\nunique = [\"p_partkey\"]",
        &[
            ("p_partkey", "int"),
            ("p_name", "string"),
            ("p_mfgr", "string"),
            ("p_brand", "string"),
            ("p_type", "string"),
            ("p_size", "int"),
            ("p_container", "string"),
            ("p_retailprice", "decimal(2)"),
            ("p_comment", "string"),
        ],
    ),
    (
        "supplier",
        "public = true\nunique = [\"s_suppkey\"]",
        &[
            ("s_suppkey", "int"),
            ("s_name", "string"),
            ("s_address", "string"),
            ("s_nationkey", "int"),
            ("s_phone", "string"),
            ("s_acctbal", "decimal(2)"),
            ("s_comment", "string"),
        ],
    ),
    (
        "nation",
        "public = true\nunique = [\"n_nationkey\"]",
        &[
            ("n_nationkey", "int"),
            ("n_name", "string"),
            ("n_regionkey", "int"),
            ("n_comment", "string"),
        ],
    ),
    (
        "region",
        "public = true\nunique = [\"r_regionkey\"]",
        &[("r_regionkey", "int"), ("r_name", "string"), ("r_comment", "string")],
    ),
];

/// Writes all tables at that scale into a folder.
pub(crate) async fn write(folder: &Path, scale: f64) {
    let words = Distributions::static_default();
    let text = &TextPool::new(TEXT, words);
    let nations = NationGenerator::new_with_distributions_and_text_pool(words, text);
    table(folder, "nation", NationCsv::header(), nations.iter().map(NationCsv::new)).await;
    let regions = RegionGenerator::new_with_distributions_and_text_pool(words, text);
    table(folder, "region", RegionCsv::header(), regions.iter().map(RegionCsv::new)).await;
    let goods = PartGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, text);
    table(folder, "part", PartCsv::header(), goods.iter().map(PartCsv::new)).await;
    let suppliers =
        SupplierGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, text);
    table(folder, "supplier", SupplierCsv::header(), suppliers.iter().map(SupplierCsv::new)).await;
    let customers =
        CustomerGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, text);
    table(folder, "customer", CustomerCsv::header(), customers.iter().map(CustomerCsv::new)).await;
    let offers = PartSuppGenerator::new_with_text_pool(scale, 1, 1, text);
    table(folder, "partsupp", PartSuppCsv::header(), offers.iter().map(PartSuppCsv::new)).await;
    let orders = OrderGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, text);
    table(folder, "orders", OrderCsv::header(), orders.iter().map(OrderCsv::new)).await;
    let lines = LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, text);
    table(folder, "lineitem", LineItemCsv::header(), lines.iter().map(LineItemCsv::new)).await;
}

async fn table<R: Display>(folder: &Path, name: &str, head: &str, rows: impl Iterator<Item = R>) {
    let csv = folder.join(format!("{name}.csv"));
    let mut writer = BufWriter::new(File::create(&csv).unwrap());
    writeln!(writer, "{head}").unwrap();
    rows.for_each(|row| writeln!(writer, "{row}").unwrap());
    writer.into_inner().unwrap();

    let (_, _, columns) = TABLES.iter().find(|(table, ..)| *table == name).unwrap();
    let field = |(name, column_type): &(&str, &str)| {
        let data_type = match *column_type {
            "int" => DataType::Int64,
            "date" => DataType::Date32,
            "decimal(2)" => DataType::Decimal128(15, 2),
            _ => DataType::Utf8,
        };
        Field::new(*name, data_type, false)
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let context = SessionContext::new();
    let options = CsvReadOptions::new().schema(&schema);
    let rows = context.read_csv(csv.to_str().unwrap(), options).await.unwrap();
    let mut stream = rows.execute_stream().await.unwrap();
    let parquet = File::create(folder.join(format!("{name}.parquet"))).unwrap();
    let mut writer = ArrowWriter::try_new(parquet, Arc::clone(&schema), None).unwrap();
    while let Some(batch) = stream.next().await {
        let columns = batch.unwrap().columns().to_vec();
        let batch = datafusion::arrow::array::RecordBatch::try_new(Arc::clone(&schema), columns);
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.close().unwrap();
    std::fs::remove_file(csv).unwrap();
}

/// A contract for the tables, with limits on units that none of them reaches.
pub(crate) fn contract() -> String {
    let mut text = String::new();
    for unit in ["customer", "supplier"] {
        writeln!(
            text,
            "[units.{unit}]\nbudgets.ana = {{ epsilon = 1000000, delta = 0.9 }}\n\
             defaults = {{ epsilon = 1000, delta = 1e-6, max_groups_contributed = 200, \
             max_rows_per_group = 500 }}\n"
        )
        .unwrap();
    }
    for (name, unit, columns) in TABLES {
        writeln!(text, "[tables.{name}]\npath = \"{name}.parquet\"\n{unit}").unwrap();
        let column =
            |(name, column_type): &(&str, &str)| format!("{name} = {{ type = \"{column_type}\" }}");
        let columns: Vec<String> = columns.iter().map(column).collect();
        writeln!(text, "columns = {{ {} }}\n", columns.join(", ")).unwrap();
    }
    text
}

/// The contract with public groups by nation and year of an order: what joins customers' lines with
/// suppliers' offers needs them.
#[allow(dead_code, reason = "not every user has such queries")]
pub(crate) fn contract_with_public_groups() -> String {
    const NATIONS: [&str; 25] = [
        "ALGERIA",
        "ARGENTINA",
        "BRAZIL",
        "CANADA",
        "EGYPT",
        "ETHIOPIA",
        "FRANCE",
        "GERMANY",
        "INDIA",
        "INDONESIA",
        "IRAN",
        "IRAQ",
        "JAPAN",
        "JORDAN",
        "KENYA",
        "MOROCCO",
        "MOZAMBIQUE",
        "PERU",
        "CHINA",
        "ROMANIA",
        "SAUDI ARABIA",
        "VIETNAM",
        "RUSSIA",
        "UNITED KINGDOM",
        "UNITED STATES",
    ];
    let nations = format!("n_name = {{ type = \"string\", public_keys = {NATIONS:?} }}");
    let years = "o_comment = { type = \"string\" }, o_year = { type = \"int\", \
                 expression = \"EXTRACT(YEAR FROM o_orderdate)\", \
                 public_keys = [1992, 1993, 1994, 1995, 1996, 1997, 1998] }";
    contract()
        .replace("n_name = { type = \"string\" }", &nations)
        .replace("o_comment = { type = \"string\" }", years)
}

/// A context of DataFusion's own with all tables.
pub(crate) async fn plain(folder: &Path) -> SessionContext {
    let context = SessionContext::new();
    for (name, ..) in TABLES {
        let path = folder.join(format!("{name}.parquet"));
        context.register_parquet(name, path.to_str().unwrap(), Default::default()).await.unwrap();
    }
    context
}

/// A query as the standard has it, with the parameters by which its answers are validated.
pub(crate) fn standard(number: i32) -> String {
    let parameters: &[&str] = match number {
        1 => &["90"],
        2 => &["15", "BRASS", "EUROPE"],
        3 => &["BUILDING", "1995-03-15"],
        4 => &["1993-07-01"],
        5 => &["ASIA", "1994-01-01"],
        6 => &["1994-01-01", "0.06", "24"],
        7 => &["FRANCE", "GERMANY"],
        8 => &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
        9 => &["green"],
        10 => &["1993-10-01"],
        11 => &["GERMANY", "0.0001"],
        12 => &["MAIL", "SHIP", "1994-01-01"],
        13 => &["special", "requests"],
        14 => &["1995-09-01"],
        15 => &["1996-01-01"],
        16 => &["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"],
        17 => &["Brand#23", "MED BOX"],
        18 => &["300"],
        19 => &["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"],
        20 => &["forest", "1994-01-01", "CANADA"],
        21 => &["SAUDI ARABIA"],
        _ => &["13", "31", "23", "29", "30", "18", "17"],
    };
    let mut text = query(number).unwrap().replace("day (3)", "day");
    // The last first: `:1` is the beginning of `:10`.
    for (index, parameter) in parameters.iter().enumerate().rev() {
        text = text.replace(&format!(":{}", index + 1), parameter);
    }
    text.trim().trim_end_matches(';').to_owned()
}

/// The standard's query with bounds that nothing reaches for the sums and means that are released:
/// those of its outermost SELECT, and in 11 and 22 those of a sub-query that gives one value. Sums
/// of constants need none.
pub(crate) fn bounded(number: i32) -> String {
    let text = standard(number);
    let everywhere = matches!(number, 11 | 22);
    let (mut bounded, mut rest) = (String::new(), text.as_str());
    let outermost = |text: &str| {
        let depth = |text: &str| text.matches('(').count() - text.matches(')').count();
        depth(text) == 0
    };
    while let Some(at) = ["sum(", "avg("].iter().filter_map(|name| rest.find(name)).min() {
        let (before, inside) = rest.split_at(at + 4);
        let released = everywhere || outermost(&format!("{bounded}{}", &before[..at]));
        bounded += before;
        let mut open = 1;
        let end = inside.char_indices().find(|(_, c)| {
            open += i32::from(*c == '(') - i32::from(*c == ')');
            open == 0
        });
        let (operand, after) = inside.split_at(end.unwrap().0);
        bounded += operand;
        if released && !operand.contains("then 1") {
            bounded += match before.ends_with("avg(") {
                true => ", contribution_bounds_per_row => (0, 1000000)",
                false => ", contribution_bounds_per_group => (-10000000000, 10000000000)",
            };
        }
        rest = after;
    }
    bounded + rest
}
