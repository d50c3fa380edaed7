//! The topological order of a graph that is given as the needs of each node.

/// Every node after all of its needs; among possible next ones, the first in the file. Nodes on a cycle are omitted:
/// a plan has none.
pub(super) fn topological(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (node, needs) in needs.iter().enumerate() {
        for need in needs {
            dependents[*need].push(node);
        }
    }
    let mut order: Vec<usize> = (0..needs.len()).filter(|node| waiting[*node] == 0).collect();
    let mut next = 0;
    while let Some(node) = order.get(next).copied() {
        next += 1;
        for dependent in &dependents[node] {
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                order.push(*dependent);
            }
        }
    }
    order
}

/// The layer of each node: one beyond the last of its needs.
pub(super) fn ranks(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut ranks = vec![0; needs.len()];
    for node in topological(needs) {
        ranks[node] = needs[node].iter().map(|need| ranks[*need] + 1).max().unwrap_or(0);
    }
    ranks
}
