//! What a step of the client fails with: a stable code, what failed on what, its causes, and hints; and the list of all
//! problems that one look found. How a failure is printed is `shared::report`'s matter, when it is printed that of `main`.

use std::error::Error;
use std::fmt;

use shared::error_code::ErrorCode;
use shared::report::{self, Failure};

/// A failure of one step: `SubmitError::new(code, what).because(source).hint("…")`.
#[derive(Debug)]
pub struct SubmitError {
    code: ErrorCode,
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

impl SubmitError {
    /// A failure of kind `code`; `what` says what failed on what, in lower case, without its cause.
    #[must_use]
    pub fn new(code: ErrorCode, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), source: None, hints: Vec::new() }
    }

    /// A fault of Airlock itself.
    #[must_use]
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorCode::Bug, what).hint("this is not your fault: please report it")
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a line that names the setting or command that helps.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }
}

impl fmt::Display for SubmitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Error for SubmitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl Failure for SubmitError {
    fn code(&self) -> ErrorCode {
        self.code
    }

    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}

/// Every problem that one look at the settings or the inputs found: a user mends them all at once, not one a run.
#[derive(Debug)]
pub struct Problems {
    first: SubmitError,
    others: Vec<SubmitError>,
}

impl Problems {
    /// `list` as an error, unless it is empty.
    pub fn check(list: Vec<SubmitError>) -> Result<(), Self> {
        let mut list = list.into_iter();
        list.next().map_or(Ok(()), |first| Err(Self { first, others: list.collect() }))
    }

    /// The problems in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &SubmitError> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The code of the first problem: it decides the exit status.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.first.code
    }

    /// Each problem as `shared::report` shows it, one after the other.
    #[must_use]
    pub fn render(&self, program: &str) -> String {
        self.iter().map(|problem| report::render(program, problem)).collect()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.first)?;
        self.others.iter().try_for_each(|problem| write!(formatter, "\n{}: {problem}", problem.code))
    }
}

impl Error for Problems {}

impl From<SubmitError> for Problems {
    fn from(first: SubmitError) -> Self {
        Self { first, others: Vec::new() }
    }
}

/// What one look found so far. Whoever looks goes on after a problem, so that all of them are reported together.
#[derive(Debug, Default)]
pub struct Findings {
    /// What stops the submission.
    pub problems: Vec<SubmitError>,
    /// What the user should know and the submission survives; one line each.
    pub warnings: Vec<String>,
}

impl Findings {
    /// The value, or none and one problem more.
    pub fn keep<T>(&mut self, result: Result<T, SubmitError>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// One problem more.
    pub fn problem(&mut self, problem: SubmitError) {
        self.problems.push(problem);
    }

    /// One warning more.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f11_every_problem_has_its_line_and_the_first_decides_the_status() {
        let missing = SubmitError::new(ErrorCode::InputMissing, "--jars: no file a.jar").hint("check the path");
        let conf = SubmitError::new(ErrorCode::ConfKey, "spark.x is no key").because("it has no value");
        let problems = Problems::check(vec![missing, conf]).unwrap_err();
        assert_eq!(problems.code().exit_status(), 66);
        let expected = "airlock: E_INPUT_MISSING: --jars: no file a.jar\n  hint: check the path\n\
                        airlock: E_CONF_KEY: spark.x is no key\n  cause: it has no value\n";
        assert_eq!(problems.render("airlock"), expected);
        assert!(Problems::check(vec![]).is_ok());
    }
}
