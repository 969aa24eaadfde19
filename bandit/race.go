package bandit

import "math"

// race finds the arm of the lowest index without computing all indices. The index of an arm falls
// as the rounds go by and depends on its own losses only. So its value at the end of a block of
// rounds is a lower bound during the block. A tree of minima holds these bounds; a round computes
// the indices of those arms only whose bound is not above the lowest index found, and the arm
// pulled gets a new bound. A block is as long as an eighth of the rounds before it, so that new
// bounds for all d arms cost O(d/t) a round.
type race struct {
	until int // the last round of the block, 0 if there are no bounds
	size  int
	bound []float64 // node 1 is the root, nodes 2i and 2i + 1 are below node i
	arm   int       // of the search, with its index
	least float64
	seen  int  // indices computed in the search
	scan  bool // too many: the rest of the block computes all indices
}

// pick returns the arm of the lowest index in round t, the first of several. It returns none if
// computing all indices is faster: many arms are alike in the block.
func (r *race) pick(p indexer, t int) int {
	if t > r.until {
		r.begin(p, t)
	}
	if r.scan {
		return none
	}
	i := 1
	for i < r.size { // to the lowest bound
		i *= 2
		if r.bound[i+1] < r.bound[i] {
			i++
		}
	}
	bonus := p.bonus(t)
	r.arm = i - r.size
	r.least = p.index(r.arm, bonus, math.Inf(1))
	r.seen = 0
	r.search(p, bonus, 1)
	r.scan = r.seen > p.arms()/16
	return r.arm
}

// search looks for lower indices below a node.
func (r *race) search(p indexer, bonus float64, i int) {
	if r.bound[i] > r.least {
		return
	}
	if i < r.size {
		r.search(p, bonus, 2*i)
		r.search(p, bonus, 2*i+1)
		return
	}
	k := i - r.size
	r.seen++
	if v := p.index(k, bonus, r.least); v < r.least || v == r.least && k < r.arm {
		r.arm, r.least = k, v
	}
}

// begin computes the bounds for the block that begins with round t.
func (r *race) begin(p indexer, t int) {
	d := p.arms()
	if r.size < d {
		for r.size = 1; r.size < d; {
			r.size *= 2
		}
		r.bound = make([]float64, 2*r.size)
		for i := range r.bound {
			r.bound[i] = math.Inf(1)
		}
	}
	r.until, r.scan = t+d/4, false
	for k := range d {
		r.bound[r.size+k] = r.boundOf(p, k)
	}
	for i := r.size - 1; i > 0; i-- {
		r.bound[i] = min(r.bound[2*i], r.bound[2*i+1])
	}
}

// boundOf is the bound of arm k, a little lower for rounding.
func (r *race) boundOf(p indexer, k int) float64 {
	v := p.index(k, p.bonus(r.until), math.Inf(1))
	return v - float64(1e-12*math.Abs(v))
}

// change computes the bound of arm k anew after a loss.
func (r *race) change(p indexer, k int) {
	if r.until == 0 {
		return
	}
	i := r.size + k
	r.bound[i] = r.boundOf(p, k)
	for i /= 2; i > 0; i /= 2 {
		r.bound[i] = min(r.bound[2*i], r.bound[2*i+1])
	}
}
