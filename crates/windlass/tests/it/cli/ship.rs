//! The pipeline that most tests of the command line read.

/// A pipeline with a step of nearly every kind.
pub(crate) const SHIP: &str = r#"name: ship
params:
  channel: { choose: [beta, stable], default: beta }
env: { CARGO_TERM_COLOR: always }
locks: { device-farm: 2 }
defaults: { timeout: 15m, retry: 1 }
steps:
  lint:
    about: Clippy, warnings are errors
    run: cargo clippy -- -D warnings
  test:
    needs: lint
    matrix: { os: [linux, plan9], db: [sqlite, postgres], exclude: { os: plan9, db: postgres } }
    env: { DB: "${{ matrix.db }}" }
    run: cargo nextest run --profile ci
    retry: { times: 2, wait: 5s..1m, on: [exit-101, timed_out], elsewhere: true, lost: 3 }
  bundle:
    needs: test
    requires: [cpu>=1, "gpu | executor=shell", not spot]
    priority: 10
    env: { CHANNEL: "${{ params.channel }}" }
    run: |
      ./bundle.sh "$CHANNEL" ${{ params.channel }}
      echo "version=$(cat VERSION)" >> "$WINDLASS_OUTPUT"
    outputs: [version]
  soak: { needs: bundle, lock: device-farm, timeout: 1h, run: ./soak.sh dist/ }
  deploy:
    needs: [bundle, soak]
    if: params.channel == "stable"
    lock: { name: prod, order: newest-first }
    secrets: [DEPLOY_TOKEN]
    retry: { lost: 0 }
    run: ./deploy.sh ${{ steps.bundle.outputs.version }}
  tell: { needs: { step: deploy, optional: true }, if: always(), pin: leader, run: ./notify.sh }
"#;
