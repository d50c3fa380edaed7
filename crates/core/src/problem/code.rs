//! Problem codes. The meaning of a code never changes.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A kind of problem. Users search for the code and scripts match it: a published code keeps its meaning, and
        /// a new meaning gets a new code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ProblemCode { $($(#[$doc])* $name,)* }

        impl ProblemCode {
            /// All codes in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as text: `E029`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The page in Markdown: an explanation, a wrong example and the right one.
            pub const fn page(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("codes/", $text, ".md")),)* }
            }
        }
    };
}

codes! {
    /// The file is not text.
    NotText = "E001",
    /// The file, or its expanded aliases, exceed a limit.
    TooLarge = "E002",
    /// The file is not valid YAML.
    Syntax = "E003",
    /// A duplicate key in one map.
    DuplicateKey = "E004",
    /// A YAML tag (`!word`).
    Tag = "E005",
    /// More than one document in the file.
    TwoDocuments = "E006",
    /// A key that is not a string.
    KeyNotText = "E007",
    /// A merge key whose value is not a map.
    Merge = "E008",
    /// An alias without its anchor, or inside it.
    Alias = "E009",
    /// An empty file, or no steps.
    NoSteps = "E010",
    /// A tab in the indentation.
    TabIndent = "E011",

    /// `run: echo a: b`
    ColonInCommand = "E021",
    /// `run: [ -f x ] && y`
    BracketFirst = "E022",
    /// `run: "a" && b`
    QuoteFirst = "E023",
    /// `run: x #y`
    HashInCommand = "E024",
    /// `{ run: echo hi, there }`
    CommaInBraces = "E025",
    /// `env: { A: ${{ x }} }`
    BracesUnquoted = "E026",
    /// `if: !failure()`
    BangInIf = "E027",
    /// `requires: [docker, !spot]`
    BangInRequires = "E028",
    /// `timeout: 15`
    BareNumber = "E029",
    /// `needs: a, b`
    CommaList = "E030",
    /// `run: *.sh`, `run: @x` and their like.
    SignFirst = "E031",
    /// Commands on several lines without a `|`.
    JoinedLines = "E032",
    /// `{{ params.x }}`, `${params.x}`
    LoneBraces = "E033",

    /// An unknown key.
    UnknownKey = "E041",
    /// A value of the wrong type.
    WrongType = "E042",
    /// A key that this version cannot execute yet.
    NotAvailable = "E043",
    /// A required key is missing.
    MissingKey = "E044",
    /// A value that is not one of the allowed ones.
    UnknownWord = "E045",
    /// An invalid duration.
    BadDuration = "E046",
    /// A number out of range, or not a number.
    BadNumber = "E047",
    /// An invalid name.
    BadName = "E048",
    /// A reserved name.
    ReservedName = "E049",
    /// A step without an action.
    EmptyStep = "E050",
    /// A step with more than one action.
    TwoActions = "E051",
    /// A missing value.
    Empty = "E052",
    /// Two conflicting keys.
    Conflict = "E053",
    /// A `call` of an unknown step.
    UnknownCall = "E054",
    /// A duplicate entry in a list.
    Twice = "E055",
    /// A time limit of zero.
    ZeroLimit = "E056",
    /// An invalid pattern of paths.
    BadPattern = "E057",

    /// A need that names no step.
    UnknownNeed = "E061",
    /// A step that needs itself.
    SelfNeed = "E062",
    /// A cycle of needs.
    Cycle = "E063",
    /// A matrix without cells.
    EmptyMatrix = "E065",
    /// A duplicate value in one axis.
    ValueTwice = "E066",
    /// An axis that is not in the matrix.
    NotAnAxis = "E067",
    /// A plan that exceeds its limits of cells, steps, needs or bytes.
    PlanTooLarge = "E068",
    /// A cell whose name is too long.
    LongName = "E069",
    /// An `exclude` or `include` that matches no cell.
    NoSuchCell = "E070",
    /// A fetch of a step that hands on no files.
    NoArtifacts = "E071",
    /// A path or pattern that is invalid there.
    BadPath = "E072",

    /// An unknown name in an expression.
    UnknownPath = "E081",
    /// A param that is not declared.
    UnknownParam = "E082",
    /// `matrix.x` where there is no such axis.
    UnknownAxis = "E083",
    /// `steps.x` where there is no such step.
    UnknownStep = "E084",
    /// `steps.x` where the step does not need `x`.
    NotANeed = "E085",
    /// An output that the step does not declare.
    UnknownOutput = "E086",
    /// A value that is read before it is known.
    TooLate = "E087",
    /// A condition that is not a boolean.
    NotABoolean = "E088",

    /// An invalid expression.
    Expression = "E101",
    /// `${{ }}` where a shell cannot read a variable.
    Splice = "E102",
    /// An invalid requirement.
    BadRequirement = "E103",
    /// A value that does not fit the operation.
    BadValue = "E104",

    /// A given param that is not declared.
    ParamUnknown = "E121",
    /// A required param that was not given.
    ParamMissing = "E122",
    /// A param that is not one of its choices.
    ParamChoice = "E123",
    /// A param of the wrong type.
    ParamType = "E124",
}

impl ProblemCode {
    /// Parses the form of [`as_str`](Self::as_str), ignoring case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text))
    }

    /// Whether the value of a param is wrong: a given one, or a default in the file.
    pub(crate) const fn concerns_param_value(self) -> bool {
        matches!(
            self,
            Self::ParamUnknown | Self::ParamMissing | Self::ParamChoice | Self::ParamType
        )
    }

    /// Whether the text is invalid YAML, or valid YAML with another meaning than intended.
    pub(crate) const fn is_yaml_mistake(self) -> bool {
        matches!(
            self,
            Self::Syntax
                | Self::Tag
                | Self::ColonInCommand
                | Self::BracketFirst
                | Self::QuoteFirst
                | Self::HashInCommand
                | Self::CommaInBraces
                | Self::BracesUnquoted
                | Self::BangInIf
        )
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
