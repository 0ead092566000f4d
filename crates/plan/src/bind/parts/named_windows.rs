//! The WINDOW clause: windows that are named, and written where they are used.

use hushtable_lang::{Refusal, did_you_mean, similar};
use sqlparser::ast;

/// Most windows of one WINDOW clause.
const MAX_WINDOWS: usize = 20;
/// Most characters of all windows that are written where they are named.
const MAX_WRITTEN: usize = 100_000;
/// Most keys that a window partitions and orders by.
const MAX_KEYS: usize = 30;

/// The windows that a SELECT names.
#[derive(Default)]
pub(super) struct NamedWindows(Vec<(String, ast::WindowSpec)>);

impl NamedWindows {
    /// Takes the WINDOW clause out of a SELECT.
    pub(super) fn take(select: &mut ast::Select) -> Result<Self, Refusal> {
        let clause = std::mem::take(&mut select.named_window);
        if clause.len() > MAX_WINDOWS {
            return Err(Refusal::new(
                format!("WINDOW names {} windows; at most {MAX_WINDOWS} are allowed", clause.len()),
                "write OVER (…) where a window is used",
            ));
        }
        let mut windows = Self::default();
        for ast::NamedWindowDefinition(name, window) in clause {
            if windows.find(&name.value).is_some() {
                let twice =
                    Refusal::new(format!("WINDOW names `{name}` twice"), "give it another name");
                return Err(twice.at(&name));
            }
            let window = match window {
                ast::NamedWindowExpr::NamedWindow(of) => windows.named(&of)?.clone(),
                ast::NamedWindowExpr::WindowSpec(window) => windows.whole(window)?,
            };
            windows.0.push((name.value, window));
        }
        Ok(windows)
    }

    fn find(&self, name: &str) -> Option<&ast::WindowSpec> {
        let is_named =
            |(window_name, _): &&(String, ast::WindowSpec)| window_name.eq_ignore_ascii_case(name);
        self.0.iter().find(is_named).map(|(_, window)| window)
    }

    fn named(&self, name: &ast::Ident) -> Result<&ast::WindowSpec, Refusal> {
        self.find(&name.value).ok_or_else(|| {
            let names = self.0.iter().map(|(window_name, _)| window_name.as_str());
            let hint = did_you_mean(
                similar(&name.value, names),
                "WINDOW w AS (PARTITION BY … ORDER BY …) after HAVING names one",
            );
            Refusal::new(format!("there is no window `{}`", name.value), hint).at(name)
        })
    }

    /// A window with what it takes over from the one that it names.
    fn whole(&self, mut window: ast::WindowSpec) -> Result<ast::WindowSpec, Refusal> {
        let Some(name) = window.window_name.take() else { return Ok(window) };
        let base = self.named(&name)?;
        let repeats = !window.partition_by.is_empty()
            || (!window.order_by.is_empty() && !base.order_by.is_empty())
            || base.window_frame.is_some();
        if repeats {
            return Err(Refusal::new(
                format!("a window that builds on `{name}` changes what `{name}` says"),
                "add ORDER BY and a frame of rows where the named window has none; write \
                 PARTITION BY in the named window",
            )
            .at(&name));
        }
        window.partition_by.clone_from(&base.partition_by);
        if window.order_by.is_empty() {
            window.order_by.clone_from(&base.order_by);
        }
        Ok(window)
    }

    /// Writes the window of a call where it names one. `written` counts characters.
    pub(super) fn write(&self, node: &mut ast::Expr, written: &mut usize) -> Result<(), Refusal> {
        let ast::Expr::Function(function) = node else { return Ok(()) };
        let window = match &function.over {
            Some(ast::WindowType::NamedWindow(name)) => self.named(name)?.clone(),
            Some(ast::WindowType::WindowSpec(window)) if window.window_name.is_some() => {
                self.whole(window.clone())?
            }
            Some(ast::WindowType::WindowSpec(window)) => return few_keys(window),
            None => return Ok(()),
        };
        few_keys(&window)?;
        *written += window.to_string().len();
        if *written > MAX_WRITTEN {
            return Err(Refusal::new(
                format!(
                    "the named windows have more than {MAX_WRITTEN} characters in all where \
                     they are used"
                ),
                "use shorter windows, fewer uses or several statements",
            ));
        }
        function.over = Some(ast::WindowType::WindowSpec(window));
        Ok(())
    }
}

fn few_keys(window: &ast::WindowSpec) -> Result<(), Refusal> {
    let keys = window.partition_by.len() + window.order_by.len();
    if keys <= MAX_KEYS {
        return Ok(());
    }
    Err(Refusal::new(
        format!("a window has {keys} keys; at most {MAX_KEYS} are allowed"),
        "keep the keys of PARTITION BY and ORDER BY that tell rows apart",
    ))
}
