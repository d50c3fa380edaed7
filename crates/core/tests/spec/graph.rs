//! Invalid needs and matrices.

use insta::assert_snapshot;

use crate::outline::diagnosis;

#[test]
fn invalid_needs_are_reported() {
    let text = "\
steps:
  lint: { run: x }
  test: { run: x, needs: [lnt, lint, lint] }
  self: { run: x, needs: self }
  other: { run: x, needs: nowhere }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E061]: there is no step `lnt`
     --> windlass.yml:3:27
      |
    3 |   test: { run: x, needs: [lnt, lint, lint] }
      |                           ^^^ did you mean `lint`?
      |
      = write:
    3 |   test: { run: x, needs: [lint, lint, lint] }

    error[E055]: the need `lint` is listed twice
     --> windlass.yml:3:38
      |
    3 |   test: { run: x, needs: [lnt, lint, lint] }
      |                                      ^^^^ second
      |                                ---- first
      |
      = help: keep one of them

    error[E062]: `self` needs itself
     --> windlass.yml:4:26
      |
    4 |   self: { run: x, needs: self }
      |                          ^^^^
      |
      = help: a step begins when its needs have ended: remove this need

    error[E061]: there is no step `nowhere`
     --> windlass.yml:5:27
      |
    5 |   other: { run: x, needs: nowhere }
      |                           ^^^^^^^
      |
      = help: the steps are lint, other, self, test
    "#);
}

#[test]
fn cycles_are_reported_with_the_full_path() {
    let text = "\
steps:
  a: { run: x, needs: c }
  b: { run: x, needs: a }
  c: { run: x, needs: [d, b] }
  d: { run: x }
  e: { run: x, needs: f }
  f: { run: x, needs: e }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E063]: `needs` form a cycle: a → c → b → a
     --> windlass.yml:2:23
      |
    2 |   a: { run: x, needs: c }
      |                       ^ `a` needs `c`
     ::: windlass.yml:4:27
      |
    4 |   c: { run: x, needs: [d, b] }
      |                           - `c` needs `b`
     ::: windlass.yml:3:23
      |
    3 |   b: { run: x, needs: a }
      |                       - `b` needs `a`
      |
      = help: remove one of these needs

    error[E063]: `needs` form a cycle: e → f → e
     --> windlass.yml:6:23
      |
    6 |   e: { run: x, needs: f }
      |                       ^ `e` needs `f`
     ::: windlass.yml:7:23
      |
    7 |   f: { run: x, needs: e }
      |                       - `f` needs `e`
      |
      = help: remove one of these needs
    "#);
}

#[test]
fn invalid_matrices_are_reported() {
    let text = "\
steps:
  a: { run: x, matrix: [] }
  b: { run: x, matrix: { os: [], db: [x] } }
  c: { run: x, matrix: { os: [linux, linux], exclude: { arch: arm }, route: [oss] } }
  d: { run: x, matrix: { not a name: [1] } }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E065]: the axis `target` has no values
     --> windlass.yml:2:24
      |
    2 |   a: { run: x, matrix: [] }
      |                        ^^

    error[E065]: the axis `os` has no values
     --> windlass.yml:3:26
      |
    3 |   b: { run: x, matrix: { os: [], db: [x] } }
      |                          ^^

    error[E066]: `linux` is listed twice in `os`
     --> windlass.yml:4:38
      |
    4 |   c: { run: x, matrix: { os: [linux, linux], exclude: { arch: arm }, route: [oss] } }
      |                                      ^^^^^ second
      |                               ----- first
      |
      = help: two cells would have the same name

    error[E067]: the matrix has no axis `arch`
     --> windlass.yml:4:57
      |
    4 |   c: { run: x, matrix: { os: [linux, linux], exclude: { arch: arm }, route: [oss] } }
      |                                                         ^^^^
      |
      = help: its axes are os

    error[E067]: the matrix has no axis `oss`
     --> windlass.yml:4:78
      |
    4 |   c: { run: x, matrix: { os: [linux, linux], exclude: { arch: arm }, route: [oss] } }
      |                                                                              ^^^ did you mean `os`?

    error[E048]: `not a name` is not a valid name
     --> windlass.yml:5:26
      |
    5 |   d: { run: x, matrix: { not a name: [1] } }
      |                          ^^^^^^^^^^
      |
      = help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`
      |
      = write:
    5 |   d: { run: x, matrix: { not-a-name: [1] } }
    "#);
}

#[test]
fn invalid_cells_are_reported() {
    let text = "\
steps:
  a: { run: x, matrix: { os: [linux], exclude: { os: linux } } }
  b: { run: x, matrix: { os: [linux], exclude: { os: windows } } }
  c: { run: x, matrix: { os: [linux], db: [a, b], include: [{ os: linux }, { os: ios, extra: 1 }] } }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E065]: the matrix has no cells: every combination is excluded
     --> windlass.yml:2:24
      |
    2 |   a: { run: x, matrix: { os: [linux], exclude: { os: linux } } }
      |                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error[E070]: this `exclude` matches no cell
     --> windlass.yml:3:48
      |
    3 |   b: { run: x, matrix: { os: [linux], exclude: { os: windows } } }
      |                                                ^^^^^^^^^^^^^^^
      |
      = help: check that the values are spelled as in the axes

    error[E070]: this `include` adds nothing
     --> windlass.yml:4:61
      |
    4 |   c: { run: x, matrix: { os: [linux], db: [a, b], include: [{ os: linux }, { os: ios, extra: 1 }] } }
      |                                                             ^^^^^^^^^^^^^
      |
      = help: to add a cell, give every axis; to add a value to cells, give some axes and a new key

    error[E070]: this `include` matches no cell
     --> windlass.yml:4:76
      |
    4 |   c: { run: x, matrix: { os: [linux], db: [a, b], include: [{ os: linux }, { os: ios, extra: 1 }] } }
      |                                                                            ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: to add a cell, give every axis; to add a value to cells, give some axes and a new key
    "#);
}

#[test]
fn size_of_a_matrix_is_bounded() {
    let axis = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let (a, b) = (axis(1000), axis(101));
    let text = format!("steps:\n  a:\n    run: x\n    matrix:\n      a: [{a}]\n      b: [{b}]\n");
    assert_snapshot!(crate::outline::listed(&text), @"windlass.yml:5:7: error[E068]: the matrix has 101000 cells (1000 × 101); at most 100000 are allowed");
    let text = format!(
        "steps:\n  a:\n    run: x\n    matrix:\n      a: [{a}]\n      b: [{a}]\n      c: [{a}]\n      d: [{a}]\n"
    );
    assert_snapshot!(crate::outline::listed(&text), @"windlass.yml:5:7: error[E068]: the matrix has 1000000000000 cells (1000 × 1000 × 1000 × 1000); at most 100000 are allowed");
}

#[test]
fn values_of_os_and_arch_name_platforms() {
    let text = "\
params: { on: { default: ubuntu-latest } }
steps:
  a: { run: x, matrix: { os: [ubuntu-latest, beos], arch: [amd64] } }
  b: { run: x, requires: [os=darwin, not arch=arm64] }
  c: { run: x, matrix: { os: [linux], include: [{ os: mac }] } }
  d: { run: x, requires: [zone=ubuntu-latest, ubuntu-latest] }
";
    assert_snapshot!(crate::outline::listed(text), @r"
    windlass.yml:3:31: error[E103]: no worker has the operating system `ubuntu-latest`
    windlass.yml:3:46: error[E103]: no worker has the operating system `beos`
    windlass.yml:3:60: error[E103]: no worker has the processor `amd64`
    windlass.yml:4:27: error[E103]: no worker has the operating system `darwin`
    windlass.yml:4:42: error[E103]: no worker has the processor `arm64`
    windlass.yml:5:55: error[E103]: no worker has the operating system `mac`
    ");
    let text = "params: { on: { default: ubuntu-latest } }\nsteps:\n  e: { run: x, matrix: { os: [\"${{ params.on }}\"] } }\n";
    assert_snapshot!(crate::outline::listed(text), @"windlass.yml:3:31: error[E103]: no worker has the operating system `ubuntu-latest`");
    let text = "\
params: { on: { default: ubuntu-latest }, cpu: { default: amd64 }, skip: { default: none } }
steps:
  a: { run: x, matrix: { os: [linux], include: [{ os: \"${{ params.on }}\" }] } }
  b: { run: x, matrix: { os: [linux], include: [{ os: linux, arch: \"${{ params.cpu }}\" }] } }
  c: { run: x, matrix: { os: [linux, macos], exclude: [{ os: \"${{ params.skip }}\" }] } }
";
    assert_snapshot!(crate::outline::listed(text), @r"
    windlass.yml:3:55: error[E103]: no worker has the operating system `ubuntu-latest`
    windlass.yml:4:68: error[E103]: no worker has the processor `amd64`
    ");
}
