//! `graph`: the same pipeline in four forms.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::cli::ship::SHIP;
use crate::support::project_folder::{ProjectFolder, repository};

#[test]
fn graph_is_drawn_as_a_tree() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("graph"), @r#"
    ship
    └─ lint
       └─ test ×3
          └─ bundle
             └─ soak  [device-farm]
                └─ deploy  if  [prod]  also after bundle
                   └─ tell
    "#);
}

#[test]
fn graph_with_branches_is_drawn_as_a_tree() {
    let text = "name: fan\nsteps:\n  a: { run: make }\n  b: { needs: a, run: make }\n  c: { needs: a, run: make }\n  d: { needs: [b, c], run: make }\n  e: { run: make }\n";
    assert_snapshot!(ProjectFolder::with(text).page("graph"), @r#"
    fan
    ├─ a
    │  ├─ b
    │  │  └─ d  also after c
    │  └─ c
    └─ e
    "#);
}

#[test]
fn graph_is_printed_for_graphviz() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("graph --format dot"), @r#"
    digraph "ship" {
      rankdir=LR;
      node [shape=box, style=rounded, fontname="sans-serif"];
      "lint" [label="lint", tooltip="Clippy, warnings are errors"];
      "test" [label="test ×3", shape=box3d];
      "bundle" [label="bundle"];
      "soak" [label="soak\nlock device-farm"];
      "deploy" [label="deploy\nlock prod", style="rounded,dashed"];
      "tell" [label="tell"];
      "lint" -> "test";
      "test" -> "bundle";
      "bundle" -> "soak";
      "bundle" -> "deploy";
      "soak" -> "deploy";
      "deploy" -> "tell" [style=dashed];
    }
    "#);
}

#[test]
fn graph_is_printed_for_mermaid() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("graph --format mermaid"), @r#"
    flowchart LR
      s0("lint")
      s1[["test ×3"]]
      s2("bundle")
      s3("soak<br/>🔒 device-farm")
      s4("deploy<br/>🔒 prod")
      s5("tell")
      s0 --> s1
      s1 --> s2
      s2 --> s3
      s2 --> s4
      s3 --> s4
      s4 -.-> s5
      classDef maybe stroke-dasharray: 4 3
      class s4 maybe
    "#);
}

#[test]
fn graph_is_drawn_as_a_picture() {
    let file = repository().join("examples/checks.yml");
    let folder = ProjectFolder::with(&std::fs::read_to_string(file).unwrap());
    assert_snapshot!(folder.page("graph --format svg"), @r#"
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 545 109" width="545" height="109" role="img">
    <title>checks</title>
    <style>text{font:500 13px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}.c{font-weight:600;font-size:11px;fill:#57606a}.l{font-size:10.5px;fill:#7d4e00}.n{fill:#f6f8fa;stroke:#afb8c1;stroke-width:1.2}.q{stroke-dasharray:5 3}.b{fill:#fff3cd}.k{fill:none;stroke:#7d4e00;stroke-width:1.3}.kb{fill:#7d4e00}.e{fill:none;stroke:#8c959f;stroke-width:1.4}.o{stroke-dasharray:4 4}.a{fill:#8c959f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.c{fill:#9198a1}.l{fill:#e3b341}.n{fill:#1c2128;stroke:#545d68}.b{fill:#3a2f12}.k{stroke:#e3b341}.kb{fill:#e3b341}.e{stroke:#768390}.a{fill:#768390}}</style>
    <path class="e" d="M75.9 68.8C100.9 68.8 100.9 68.8 125.9 68.8"/><path class="a" d="M131.9 68.8l-7 -4v8z"/>
    <path class="e" d="M211.2 68.8C236.2 68.8 236.2 44.5 261.2 44.5"/><path class="a" d="M267.2 44.5l-7 -4v8z"/>
    <path class="e" d="M211.2 68.8C239.2 68.8 239.2 93.0 267.2 93.0H405.8C430.8 93.0 430.8 68.8 455.8 68.8"/><path class="a" d="M461.8 68.8l-7 -4v8z"/>
    <path class="e" d="M405.8 44.5C430.8 44.5 430.8 68.8 455.8 68.8"/><path class="a" d="M461.8 68.8l-7 -4v8z"/>
    <g><title>tools: What the others need is there</title><rect class="n" x="16.0" y="51.8" width="59.9" height="34.0" rx="7"/><text x="30.0" y="73.2">tools</text></g>
    <g><title>test ×4: The same test in two locales, tried again if it fails</title><rect class="n" x="138.9" y="44.8" width="79.3" height="34.0" rx="7"/><rect class="n" x="135.4" y="48.2" width="79.3" height="34.0" rx="7"/><rect class="n" x="131.9" y="51.8" width="79.3" height="34.0" rx="7"/><text x="145.9" y="73.2">test</text><text class="c" text-anchor="end" x="197.2" y="73.2">×4</text></g>
    <g><title>measure: Numbers are only worth something when nothing else measures</title><rect class="n" x="267.2" y="16.0" width="138.6" height="57.0" rx="7"/><text x="281.2" y="37.5">measure</text><rect class="b" x="277.2" y="48.0" width="118.6" height="17" rx="8.5"/><rect class="kb" x="283.7" y="55.5" width="7" height="5.5" rx="1.2"/><path class="k" d="M285.2 55.5v-1.6a2 2 0 0 1 4 0v1.6"/><text class="l" x="294.2" y="60.2">checks/measuring</text></g>
    <g><title>report</title><rect class="n" x="461.8" y="51.8" width="66.4" height="34.0" rx="7"/><text x="475.8" y="73.2">report</text></g>
    </svg>
    "#);
}

#[test]
fn names_are_escaped_in_a_picture() {
    let text =
        "about: x\nsteps:\n  a: { about: \"</title><script>\", lock: \"<&>\\\"'\", run: make }\n";
    let folder = ProjectFolder::with(text);
    let svg = folder.data("graph --format svg");
    assert!(!svg.contains("<script>") && !svg.contains("<&>"), "{svg}");
    let mermaid = folder.data("graph --format mermaid");
    assert!(mermaid.contains("#60;#38;#62;#34;#39;"), "{mermaid}");
    let dot = folder.data("graph --format dot");
    assert!(dot.contains("lock <&>\\\"'"), "{dot}");
}

#[test]
fn unknown_format_is_refused() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("graph --format sgv"), @r#"
    exit code 2
    --- said ---
    error: invalid value 'sgv' for '--format <FORMAT>'
      [possible values: text, dot, mermaid, svg]

    For more information, try '--help'.
    "#);
}

#[test]
fn a_large_graph_is_drawn_too() {
    let mut text = "steps:\n  s0: { run: make }\n".to_owned();
    for n in 1..3001 {
        let near: BTreeSet<i32> =
            [n / 2, n / 3, n - n % 7].into_iter().filter(|m| *m < n).collect();
        let needs: Vec<String> = near.iter().map(|m| format!("s{m}")).collect();
        let _ = writeln!(text, "  s{n}: {{ needs: [{}], run: make }}", needs.join(", "));
    }
    let folder = ProjectFolder::with(&text);
    let svg = folder.data("graph --format svg");
    assert_eq!(svg.matches("<g>").count(), 3001);
}
