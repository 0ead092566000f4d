//! The summary of a table as a page in HTML.

use super::super::grid::visible;
use super::super::html::escaped;
use super::{Figure, SummaryPage};

const STYLE: &str = "\
body { font-family: sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }\n\
table { border-collapse: collapse; width: 100%; }\n\
th, td { padding: 0.2em 0.8em; border-bottom: 1px solid #ccc; text-align: left; }\n\
.number { text-align: right; font-variant-numeric: tabular-nums; }\n\
.interval { color: #666; white-space: nowrap; }\n\
.bar { width: 30%; }\n\
.bar div { background: #4477aa; height: 0.8em; }\n\
.type { color: #666; font-weight: normal; }\n";

impl SummaryPage {
    /// A whole page. It loads nothing and runs nothing.
    pub(crate) fn html(&self) -> String {
        let table = escaped(&visible(&self.table));
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{table}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <h1>{table}</h1>\n<p>{}</p>\n<table>\n",
            escaped(&self.loss.to_string())
        );
        out += &row("rows", &self.rows, 0.0);
        out += "</table>\n";
        for column in &self.columns {
            let name = escaped(&visible(&column.name));
            let column_type = escaped(&column.column_type);
            out += &format!("<h2>{name} <span class=\"type\">{column_type}</span></h2>\n<table>\n");
            if let Some(missing) = &column.missing {
                out += &row("missing", missing, 0.0);
            }
            for (percent, figure) in &column.quantiles {
                out += &row(&format!("{percent} % quantile"), figure, 0.0);
            }
            let largest = column.largest();
            for count in &column.counts {
                out += &row(&count.label, &count.count, largest);
            }
            out += "</table>\n";
            let remark = column.remark().map(|text| format!("<p>{}</p>\n", escaped(&text)));
            out += &remark.unwrap_or_default();
        }
        let below = self.below();
        let lines = below.lines().map(|line| format!("<p>{}</p>\n", escaped(line)));
        out += &lines.collect::<String>();
        out + "</body>\n</html>\n"
    }
}

fn row(label: &str, figure: &Figure, largest: f64) -> String {
    let percent = if largest > 0.0 { (figure.number / largest * 100.0).max(0.0) } else { 0.0 };
    let bar = match percent > 0.0 {
        true => format!("<div style=\"width: {percent:.0}%\"></div>"),
        false => String::new(),
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"interval\">{}</td>\
         <td class=\"bar\">{bar}</td></tr>\n",
        escaped(label),
        escaped(&figure.value.text),
        escaped(&figure.between()),
    )
}
