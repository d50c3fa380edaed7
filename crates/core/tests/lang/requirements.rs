//! The text form of requirements.

use windlass_core::requirement::{Labels, Requirement};

use crate::all_shown;

#[test]
fn printed_requirement_equals_its_text() {
    for (text, printed) in [
        ("docker", "docker"),
        (" OS=Linux ", "os=linux"),
        ("cpu >= 4", "cpu>=4"),
        ("mem>=8GiB", "mem>=8GiB"),
        ("mem < 1536MiB", "mem<1536MiB"),
        ("disk>2048gib", "disk>2TiB"),
        ("cpu<=1024", "cpu<=1024"),
        ("vram>=8GiB", "vram>=8589934592"),
        ("not spot", "not spot"),
        ("not  os=windows", "not os=windows"),
        ("gpu | tpu|cpu>=64", "gpu | tpu | cpu>=64"),
        ("not spot | paid", "not spot | paid"),
        ("executor=docker | executor=http", "executor=docker | executor=http"),
        ("nothing", "nothing"),
        ("ubuntu-22.04", "ubuntu-22.04"),
        ("image=ghcr.io/a/b:1@x+y", "image=ghcr.io/a/b:1@x+y"),
    ] {
        let clause = Requirement::parse(text).unwrap();
        assert_eq!(clause.to_string(), printed, "{text}");
        assert_eq!(Requirement::parse(printed).unwrap(), clause, "{printed}");
    }
}

#[test]
fn sizes_match_whatever_their_unit() {
    let labels = Labels::new(["mem=64GiB", "disk=1099511627776", "cpu=8"]);
    let matches = |text: &str| Requirement::parse(text).unwrap().matches(&labels);
    assert!(matches("mem>=65536MiB") && !matches("mem>64GiB"));
    assert!(matches("disk>=1TiB") && matches("cpu>4") && !matches("gpu>0"));
}

#[test]
fn wrong_requirements_show_the_right_one() {
    let texts = [
        "",
        "!spot",
        "! spot",
        "not",
        "not cpu>=4",
        "not mem<8GiB",
        "gpu || tpu",
        "gpu or tpu",
        "gpu |",
        "| gpu",
        "a && b",
        "a and b",
        "a, b",
        "a b",
        "os==linux",
        "os != linux",
        "os!=linux",
        "os=",
        "=linux",
        "cpu=>4",
        "cpu>",
        "cpu>=four",
        "cpu>=1.5",
        "cpu>=-1",
        ">=4",
        "mem>=8",
        "mem>=8GB",
        "mem>=8G",
        "mem>=8 GiB",
        "mem>=99999999999TiB",
        "a[b]",
        "${{ x }}",
        "cpu>=4 docker",
        "4 <= cpu",
        "not not a",
    ];
    insta::assert_snapshot!(all_shown(&texts, Requirement::parse), @r#"
    ^
    E103: missing label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    !spot
    ^^^^^
    E103: `!` begins a tag in YAML
    help: write not spot

    ! spot
    ^^^^^^
    E103: `!` begins a tag in YAML
    help: write not spot

    not
    ^^^
    E103: missing label after `not`
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    not cpu>=4
    ^^^^^^^^^^
    E103: `not` is allowed before a label, not before a comparison
    help: write cpu<4

    not mem<8GiB
    ^^^^^^^^^^^^
    E103: `not` is allowed before a label, not before a comparison
    help: write mem>=8GiB

    gpu || tpu
        ^^
    E103: write alternatives with one `|`
    help: write gpu | tpu

    gpu or tpu
        ^^
    E103: write alternatives with `|`
    help: write gpu | tpu

    gpu |
         ^
    E103: missing label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    | gpu
    ^
    E103: missing label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    a && b
      ^^
    E103: write several requirements as a list
    help: write [a, b]

    a and b
      ^^^
    E103: write several requirements as a list
    help: write [a, b]

    a, b
     ^
    E103: write several requirements as a list
    help: write [a, b]

    a b
    ^^^
    E103: `a b` is not a label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    os==linux
    ^^^^^^^^^
    E103: write a fact with one `=`
    help: write os=linux

    os != linux
    ^^^^^^^^^^^
    E103: requirements have no `!=`
    help: write not os=linux

    os!=linux
    ^^^^^^^^^
    E103: requirements have no `!=`
    help: write not os=linux

    os=
    ^^^
    E103: `os=` is not a label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    =linux
    ^^^^^^
    E103: `=linux` is not a label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    cpu=>4
    ^^^^^^
    E103: the characters of the operator are in the wrong order
    help: write cpu>=4

    cpu>
        ^
    E103: a fact can be compared only with a whole number
    help: write cpu>4

    cpu>=four
         ^^^^
    E103: a fact can be compared only with a whole number
    help: write cpu>=4

    cpu>=1.5
         ^^^
    E103: a fact can be compared only with a whole number
    help: write cpu>=4

    cpu>=-1
         ^^
    E103: a fact can be compared only with a whole number
    help: write cpu>=4

    >=4
    ^^^
    E103: a comparison must begin with the name of a fact
    help: write cpu>=4

    mem>=8
         ^
    E103: a size requires a unit
    help: write mem>=8GiB

    mem>=8GB
         ^^^
    E103: write a size with KiB, MiB, GiB or TiB directly after the number
    help: write mem>=8GiB

    mem>=8G
         ^^
    E103: write a size with KiB, MiB, GiB or TiB directly after the number
    help: write mem>=8GiB

    mem>=8 GiB
         ^^^^^
    E103: write a size with KiB, MiB, GiB or TiB directly after the number
    help: write mem>=8GiB

    mem>=99999999999TiB
         ^^^^^^^^^^^^^^
    E103: the number is too large
    help: write mem>=8GiB

    a[b]
    ^^^^
    E103: `a[b]` is not a label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    ${{ x }}
    ^^^^^^^^
    E103: `${{ x }}` is not a label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"

    cpu>=4 docker
         ^^^^^^^^
    E103: a fact can be compared only with a whole number
    help: write cpu>=4

    4 <= cpu
    ^^^^^^^^
    E103: a comparison must begin with the name of a fact
    help: write cpu>=4

    not not a
        ^^^^^
    E103: `not a` is not a label
    help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"
    "#);
}
