//! Workers and leaders over HTTP, through a network that delays, stalls, breaks and cuts by a seed, in virtual time.

mod faults;
mod faulty_network;
mod network_node;
mod races;
