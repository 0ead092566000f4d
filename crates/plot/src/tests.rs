use std::path::Path;

use super::*;

/// Two axes, and series in all styles.
fn small() -> Chart {
    let series = |name: &str, style, points: &[(f64, f64)]| Series {
        name: name.to_owned(),
        style,
        points: points.to_vec(),
    };
    Chart {
        title: "Count & \"noise\" <ours>".to_owned(),
        x: Axis { label: "epsilon".to_owned(), scale: Scale::Linear, marks: Vec::new() },
        y: Axis { label: "delta".to_owned(), scale: Scale::Logarithmic, marks: Vec::new() },
        series: vec![
            series("exact", Style::Line, &[(0.0, 0.1), (1.0, 1e-3), (2.0, 1e-6)]),
            series("exact", Style::Points, &[(1.0, 1e-3), (1.5, f64::NAN), (1.5, 0.0)]),
            series("bound", Style::Dashed, &[(0.0, 0.2), (2.0, 2e-3)]),
            series("steps", Style::Steps, &[(0.5, 1e-5), (1.0, 1e-4), (2.0, 1e-1)]),
            series("", Style::Line, &[(0.0, 1e-2), (2.0, 1e-2)]),
        ],
    }
}

fn svg(chart: &Chart) -> String {
    String::from_utf8(chart.draw(ImageFormat::Svg).unwrap()).unwrap()
}

/// Width, height and pixels of a PNG.
fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.color_type, ::png::ColorType::Rgb);
    (info.width, info.height, pixels)
}

#[test]
fn an_svg_is_the_same_every_time() {
    let text = svg(&small());
    assert_eq!(text, svg(&small()));
    insta::assert_snapshot!(text);
}

#[test]
fn a_png_shows_what_the_svg_shows() {
    let (width, height, pixels) = decoded(&small().draw(ImageFormat::Png).unwrap());
    assert_eq!((width, height), (1600, 1014));
    assert!(svg(&small()).contains("<svg width=\"800\" height=\"507\" viewBox=\"0 0 3200 2028\""));
    let count = |colour: [u8; 3]| pixels.chunks_exact(3).filter(|p| **p == colour).count();
    // Mostly white; a curve of three pixels' width in each of its colours.
    assert!(count([255; 3]) > pixels.len() / 3 * 9 / 10);
    for colour in [[0, 114, 178], [213, 94, 0], [0, 158, 115]] {
        assert!((1000..20_000).contains(&count(colour)), "{colour:?}: {}", count(colour));
    }
}

/// Vega-Lite has the points that are drawn, and the marks of an axis as its labels.
#[test]
fn a_specification_shows_what_the_svg_shows() {
    let read = |chart: &Chart| -> serde_json::Value {
        serde_json::from_str(&chart.vega_lite().unwrap()).unwrap()
    };
    let mut chart = small();
    let specification = read(&chart);
    let layers = specification["layer"].as_array().unwrap();
    let count = |layer: &serde_json::Value| layer["data"]["values"].as_array().unwrap().len();
    // Lines, dashes, steps and dots, without the two points that have no position.
    assert_eq!(layers.iter().map(count).collect::<Vec<_>>(), [5, 2, 3, 1]);
    assert_eq!(layers[0]["encoding"]["y"]["scale"]["type"], "log");
    assert_eq!(specification["title"], chart.title);

    let name = "a \"b\" \\ ']; \u{2028}";
    chart.x.marks = vec![(0.0, name.to_owned()), (1.0, "b".to_owned())];
    let specification = read(&chart);
    let label = &specification["layer"][0]["encoding"]["x"]["axis"]["labelExpr"];
    let texts = r#""a \"b\" \\ ']; \u2028","b""#;
    assert_eq!(*label, format!("([{texts}])[indexof([0.0,1.0], datum.value)]"));
    assert_eq!(specification["layer"][0]["data"]["values"][0]["x_text"], name);

    // Titles are in expressions, too, but an axis shows them as they are.
    for (label, escaped) in [("a\\", "a\\\\"), ("a\n\u{2028}", "a\\u000a\\u2028"), ("\"+a", "\"+a")]
    {
        chart.x.label = label.to_owned();
        let specification = read(&chart);
        let encoding = &specification["layer"][0]["encoding"];
        assert_eq!(encoding["x"]["title"], escaped);
        assert_eq!(encoding["tooltip"][0]["title"], escaped);
        assert_eq!(encoding["x"]["axis"]["title"], label);
    }

    // Axes without points, in each form.
    let empty = Chart { series: Vec::new(), ..small() };
    let specification = read(&empty);
    assert_eq!(specification["title"]["subtitle"], EMPTY);
    assert_eq!(specification["layer"][0]["data"]["values"], serde_json::json!([]));
    for text in ["epsilon", "delta", EMPTY] {
        assert!(svg(&empty).contains(text), "{text}");
    }
    assert!(empty.draw(ImageFormat::Png).is_ok());
    assert!(!svg(&small()).contains(EMPTY));
}

#[test]
fn text_is_escaped() {
    let mut chart = small();
    chart.series[0].name = "</text><script>alert('1')</script>\u{1b}\n\u{0}".to_owned();
    let text = svg(&chart);
    assert!(text.contains("Count &amp; &quot;noise&quot; &lt;ours&gt;"), "{text}");
    assert!(text.contains("&lt;/text&gt;&lt;script&gt;"), "{text}");
    assert!(!text.contains("<script"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{0}']), "{text}");
}

#[test]
fn points_without_a_place_are_left_out() {
    let mut chart = small();
    let without = svg(&chart);
    for series in &mut chart.series {
        series.points.retain(|p| p.1 > 0.0);
    }
    assert_eq!(svg(&chart), without);

    chart.series.truncate(1);
    chart.series[0].points = vec![(0.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)];
    let error = chart.draw(ImageFormat::Png).unwrap_err();
    assert_eq!(error, PlotError::Nothing { points: 3 });
    insta::assert_snapshot!(error, @"
    the chart has nothing to show: none of its 3 points fits on both axes
      hint: choose a linear axis, or another range: points must be finite, \
                                     and above 0 on a logarithmic axis
    ");
}

#[test]
fn a_million_points_make_a_small_file() {
    let mut chart = small();
    chart.y.scale = Scale::Linear;
    let points = (1..=1_000_000).map(|i| (f64::from(i), f64::from(i).sqrt())).collect();
    chart.series = vec![Series { name: "distribution".to_owned(), style: Style::Steps, points }];
    let size = svg(&chart).len();
    assert!(size < 200_000, "{size} bytes");
}

#[test]
fn the_format_is_told_by_the_extension() {
    assert_eq!(ImageFormat::of(Path::new("a/b.svg")), Ok(ImageFormat::Svg));
    assert_eq!(ImageFormat::of(Path::new("b.x.PNG")), Ok(ImageFormat::Png));
    for name in ["a.pdf", "svg", "a", "a.svg/"] {
        let format = ImageFormat::of(Path::new(name));
        assert_eq!(format.is_err(), name != "a.svg/", "{name}");
    }
    insta::assert_snapshot!(ImageFormat::of(Path::new("a.pdf")).unwrap_err(), @r"
    the name `a.pdf` does not say which format to draw
      hint: end it in .svg or .png
    ");
}

#[test]
fn colours_repeat_and_long_legends_wrap() {
    let mut chart = small();
    let series = |i: i32| Series {
        name: format!("series number {i} with a long name"),
        style: Style::Line,
        points: vec![(0.0, 1.0), (1.0, f64::from(i) + 1.0)],
    };
    chart.series = (0..20).map(series).collect();
    let text = svg(&chart);
    for i in 0..20 {
        assert!(text.contains(&format!("series number {i} with")), "{i}");
    }
    let (_, height, _) = decoded(&chart.draw(ImageFormat::Png).unwrap());
    assert!(height > 1100, "{height}");
}

/// The earlier of two lines that lie on each other is wider; references have their names beside
/// them.
#[test]
fn no_line_is_hidden_and_references_have_names() {
    let mut chart = small();
    let mut same = chart.series[0].clone();
    same.name = "the same".to_owned();
    let text = svg(&chart);
    chart.series.push(same);
    let widths = |text: &str| text.matches("stroke-width=\"15\"").count();
    assert_eq!((widths(&text), widths(&svg(&chart))), (0, 1));

    let reference =
        |name: &str, style, at| Series { name: name.to_owned(), style, points: vec![(at, at)] };
    chart.series.push(reference("budget 4", Style::Upright, 4.0));
    chart.series.push(reference("a hundredth", Style::Level, 0.01));
    let text = svg(&chart);
    for name in ["budget 4", "a hundredth"] {
        assert_eq!(text.matches(&format!("{name}\n")).count(), 1, "{name}");
    }
    // The axis holds it.
    assert!(text.contains("\n4.0\n"), "{text}");
}

#[test]
fn marks_take_the_place_of_round_numbers() {
    let mut chart = small();
    chart.series.truncate(1);
    chart.y.scale = Scale::Linear;
    chart.y.marks = (0..40).map(|k| (f64::from(k), format!("town {k}"))).collect();
    chart.x.marks = vec![(0.0, "2024-01-01".to_owned()), (2.0, "2024-03-01".to_owned())];
    let text = svg(&chart);
    for label in ["town 0", "town 39", "2024-03-01"] {
        assert!(text.contains(label), "{label}");
    }
    // Forty marks of 17 points each make the page higher.
    assert!(text.contains("height=\"78"), "{}", &text[..200]);
}
