//! Every kind of problem, under a code that never changes its meaning.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A kind of problem. The code is what people search for and what scripts match: a code that was published
        /// keeps its meaning, a new meaning gets a new code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ProblemCode { $($(#[$doc])* $name,)* }

        impl ProblemCode {
            /// Every code in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its text: `E029`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Its page: what it means, a wrong example and the right one, in Markdown.
            pub const fn page(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("codes/", $text, ".md")),)* }
            }
        }
    };
}

codes! {
    /// The file is no text.
    NotText = "E001",
    /// The file, or what its aliases unfold to, is beyond bounds.
    TooLarge = "E002",
    /// The file is no YAML.
    Syntax = "E003",
    /// A key twice in one map.
    DuplicateKey = "E004",
    /// A YAML tag (`!word`).
    Tag = "E005",
    /// More than one document in the file.
    TwoDocuments = "E006",
    /// A key that is no text.
    KeyNotText = "E007",
    /// A merge key whose value is no map.
    Merge = "E008",
    /// An alias without its anchor, or inside it.
    Alias = "E009",
    /// Nothing in the file, or no steps.
    NoSteps = "E010",
    /// A tab where YAML wants blanks.
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

    /// A key that nothing knows.
    UnknownKey = "E041",
    /// A value of the wrong kind.
    WrongType = "E042",
    /// A key that this version cannot execute yet.
    NotAvailable = "E043",
    /// A key that must be there.
    MissingKey = "E044",
    /// A word that is not among those allowed.
    UnknownWord = "E045",
    /// Text that is no duration.
    BadDuration = "E046",
    /// A number out of bounds, or no number.
    BadNumber = "E047",
    /// A name that cannot be used in paths.
    BadName = "E048",
    /// A name that has a meaning of its own.
    ReservedName = "E049",
    /// A step that says nothing to do.
    EmptyStep = "E050",
    /// A step that says more than one thing to do.
    TwoActions = "E051",
    /// Nothing where something must be.
    Empty = "E052",
    /// Two keys that exclude each other.
    Conflict = "E053",
    /// A `call` of something that does not exist.
    UnknownCall = "E054",
    /// The same entry twice in a list.
    Twice = "E055",
    /// A limit of nothing.
    ZeroLimit = "E056",

    /// A need that is no step.
    UnknownNeed = "E061",
    /// A step that needs itself.
    SelfNeed = "E062",
    /// Needs that run in a circle.
    Cycle = "E063",
    /// A matrix that has no cells.
    EmptyMatrix = "E065",
    /// A value twice in one axis.
    ValueTwice = "E066",
    /// An axis that the matrix does not have.
    NotAnAxis = "E067",
    /// More cells, steps, needs or bytes than a plan may have.
    PlanTooLarge = "E068",
    /// A cell whose name is too long.
    LongName = "E069",
    /// An `exclude` or `include` that matches no cell.
    NoSuchCell = "E070",

    /// A name in an expression that nothing knows.
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
    /// A value that is not known yet when it is needed.
    TooLate = "E087",
    /// A condition that is neither true nor false.
    NotABoolean = "E088",

    /// An expression that cannot be read.
    Expression = "E101",
    /// `${{ }}` where a shell would not see a value.
    Splice = "E102",
    /// A requirement that cannot be read.
    BadRequirement = "E103",
    /// A value that an expression can do nothing with.
    BadValue = "E104",

    /// A param that was given and is not declared.
    ParamUnknown = "E121",
    /// A param that must be given and was not.
    ParamMissing = "E122",
    /// A param that is none of its choices.
    ParamChoice = "E123",
    /// A param of the wrong type.
    ParamType = "E124",
}

impl ProblemCode {
    /// Reads what [`as_str`](Self::as_str) wrote; letters of either case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text))
    }

    /// Whether it says that the text is no YAML, or other YAML than was meant.
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
