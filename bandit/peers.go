package bandit

import (
	"math"
	"slices"
)

// peers holds the arms in groups of equally many losses. Within a group the order of the indices is
// that of the means, in all rounds, so that the arm of the lowest index is the first of one of the
// groups: a round computes one index for each group. Over t rounds there are at most √(2t) groups,
// and few where the arms are many and alike. A group is a pairing heap (Fredman, Sedgewick, Sleator
// and Tarjan 1986); a loss costs O(log d) amortized.
type peers struct {
	ready  bool
	means  []float64
	groups int     // that are not empty
	first  int32   // the group of the fewest losses
	unused int32   // the first of the groups without arms
	group  []group // of the list from first, and of the one from unused
	of     []int32 // the group of each arm
	tree   []tree  // of each arm
}

// group is the arms with as many losses.
type group struct {
	pulls      int
	root       int32 // the arm of the lowest mean, the first of several
	size       int
	next, last int32 // the groups of the next more and the next fewer losses
}

// tree is the place of an arm in the heap of its group.
type tree struct {
	child    int32 // the first one
	next     int32 // the next child of the same parent
	previous int32 // the one before; the parent of a first child
}

const nobody = int32(none)

// build groups all arms.
func (h *peers) build(s *state) {
	d := len(s.Pulls)
	*h = peers{
		ready: true, means: s.Means, first: nobody, unused: nobody,
		of: make([]int32, d), tree: make([]tree, d), group: make([]group, 0, manyArms),
	}
	order := make([]int32, d)
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(i, j int32) int { return s.Pulls[i] - s.Pulls[j] })
	last := nobody
	for _, k := range order {
		last = h.join(int(k), last, s.Pulls[k])
	}
}

// pick returns the arm of the lowest index, the first of several.
func (h *peers) pick(p indexer, bonus float64) int {
	arm, least := none, math.Inf(1)
	for g := h.first; g != nobody; g = h.group[g].next {
		k := int(h.group[g].root)
		if v := p.index(k, bonus, least); arm == none || v < least || v == least && k < arm {
			arm, least = k, v
		}
	}
	return arm
}

// move moves an arm on to the group of one loss more.
func (h *peers) move(arm, pulls int) {
	k, from := int32(arm), h.of[arm]
	g := &h.group[from]
	children := h.merge(h.tree[k].child)
	if k == g.root {
		g.root = children
	} else {
		t := h.tree[k]
		if h.tree[t.previous].child == k {
			h.tree[t.previous].child = t.next
		} else {
			h.tree[t.previous].next = t.next
		}
		if t.next != nobody {
			h.tree[t.next].previous = t.previous
		}
		g.root = h.meld(g.root, children)
	}
	g.size--
	h.join(arm, from, pulls)
	if g = &h.group[from]; g.size == 0 {
		h.unlink(from)
	}
}

// join adds an arm to the group of so many losses, which comes at or after the group from in the
// list, and returns the group.
func (h *peers) join(arm int, from int32, pulls int) int32 {
	at := from
	if from == nobody || h.group[from].pulls != pulls {
		at = h.after(from, pulls)
	}
	k, g := int32(arm), &h.group[at]
	h.of[k], h.tree[k] = at, tree{nobody, nobody, nobody}
	g.root = h.meld(g.root, k)
	g.size++
	return at
}

// after returns the group of so many losses, which is the next one of the list or a new one.
func (h *peers) after(from int32, pulls int) int32 {
	next := h.first
	if from != nobody {
		next = h.group[from].next
	}
	if next != nobody && h.group[next].pulls == pulls {
		return next
	}
	at := h.unused
	if at == nobody {
		at = int32(len(h.group))
		h.group = append(h.group, group{})
	} else {
		h.unused = h.group[at].next
	}
	h.group[at] = group{pulls: pulls, root: nobody, next: next, last: from}
	if from == nobody {
		h.first = at
	} else {
		h.group[from].next = at
	}
	if next != nobody {
		h.group[next].last = at
	}
	h.groups++
	return at
}

// unlink takes a group without arms out of the list.
func (h *peers) unlink(at int32) {
	g := &h.group[at]
	if g.last == nobody {
		h.first = g.next
	} else {
		h.group[g.last].next = g.next
	}
	if g.next != nobody {
		h.group[g.next].last = g.last
	}
	g.next, h.unused = h.unused, at
	h.groups--
}

// meld joins two heaps, given by their roots, and returns the root.
func (h *peers) meld(a, b int32) int32 {
	switch {
	case a == nobody:
		return b
	case b == nobody:
		return a
	}
	if x, y := h.means[a], h.means[b]; y < x || x == y && b < a {
		a, b = b, a
	}
	child := h.tree[a].child
	if child != nobody {
		h.tree[child].previous = b
	}
	h.tree[b].next, h.tree[b].previous = child, a
	h.tree[a].child = b
	return a
}

// merge joins the heaps of a list of children and returns the root: pairs from left to right, then
// the pairs from right to left.
func (h *peers) merge(first int32) int32 {
	pairs := nobody // the list of the pairs' roots, the last first
	for first != nobody {
		a := first
		b := h.tree[a].next
		if b == nobody {
			first = nobody
		} else {
			first = h.tree[b].next
			h.tree[b].next = nobody
		}
		h.tree[a].next = nobody
		root := h.meld(a, b)
		h.tree[root].next = pairs
		pairs = root
	}
	root := nobody
	for pairs != nobody {
		next := h.tree[pairs].next
		h.tree[pairs].next, h.tree[pairs].previous = nobody, nobody
		root = h.meld(root, pairs)
		pairs = next
	}
	return root
}
