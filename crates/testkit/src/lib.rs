//! The simulator and what it needs: a virtual clock, a faulty network, fault plans.
