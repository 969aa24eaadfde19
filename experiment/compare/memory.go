package compare

import "github.com/noregret/noregret/internal/portable"

// mostPairs is the largest number of arms of which all pairs are compared. A store of more arms
// compares each arm with the control only, in O(K) numbers.
const mostPairs = 128

// shape says which numbers a memory has and where.
type shape struct {
	pairs bool // a row of W for each arm; else two numbers
	parts int  // 1 for plain metrics, 2 for ratios
}

// products is the number of products of parts: xx, or xx, xy and yy.
func (s shape) products() int { return s.parts * (s.parts + 1) / 2 }

// Positions of the numbers before those of arms.
const (
	atF  = 0 // Σ (arms − 1)
	atNN = 1 // Σ N_t² of the units of a round
	atSS = 2 // Σ (Σ_k w_k)²
	atS  = 3 // scatter within rounds, by product; then that of rounds' means, by product
)

// head is the number of numbers before those of arms.
func (s shape) head() int { return atS + 2*s.products() }

// arm is the position of an arm's numbers: Σn, then for each part Σn·ȳ, b and Σw·ȳ_w, then the row
// of W up to the diagonal, or Σh and Σh²/w_0.
func (s shape) arm(k int) int {
	at := s.head() + k*(1+3*s.parts)
	if s.pairs {
		return at + k*(k+1)/2
	}
	return at + 2*k
}

// row is the position of the row of W.
func (s shape) row(k int) int { return s.arm(k) + 1 + 3*s.parts }

// level, score and common are the positions of Σn·ȳ, b and Σw·ȳ_w of a part.
func (s shape) level(k, part int) int  { return s.arm(k) + 1 + part }
func (s shape) score(k, part int) int  { return s.arm(k) + 1 + s.parts + part }
func (s shape) common(k, part int) int { return s.arm(k) + 1 + 2*s.parts + part }

// weighted is an arm's round with its weight.
type weighted struct {
	arm   int
	n, w  float64    // w is 0 where the variance is not known yet
	y     [2]float64 // the means of the parts
	level bool       // it counts for the level
}

// memory has the sums of some of the past. All numbers are in one slice, by shape: those of a new
// arm come at the end. Invariant: len(v) = shape.arm(K) for K arms. All numbers are finite; F, Σn²,
// Σn, the diagonals of S and all of W are at least 0.
type memory struct {
	keep float64 // the factor of the past in each round, 1 for all rounds
	v    []float64
}

// forget discounts the past by one round.
func (m *memory) forget() {
	if m.keep == 1 {
		return
	}
	for i, v := range m.v {
		m.v[i] = float64(v * m.keep)
	}
	m.v[atNN] = float64(m.v[atNN] * m.keep) // of squares
	m.v[atSS] = float64(m.v[atSS] * m.keep)
}

// add adds a round. Base is the arm that others are compared with where not all pairs are.
func (m *memory) add(s shape, base int, round []weighted) {
	m.forget()
	units := 0.0
	for i := range round {
		o := &round[i]
		if !o.level {
			continue
		}
		units += o.n
		m.v[s.arm(o.arm)] += o.n
		for part := range s.parts {
			m.v[s.level(o.arm, part)] += float64(o.n * o.y[part])
		}
	}
	m.v[atNN] += float64(units * units)
	if s.pairs {
		m.addPairs(s, round)
	} else {
		m.addBeside(s, base, round)
	}
}

// addPairs adds a round's comparisons of all arms.
func (m *memory) addPairs(s shape, round []weighted) {
	total, arms := 0.0, 0
	var mean [2]float64
	for i := range round {
		if o := &round[i]; o.w > 0 {
			arms++
			total += o.w
			for part := range s.parts {
				mean[part] += float64(o.w / total * (o.y[part] - mean[part]))
			}
		}
	}
	if arms == 0 {
		return
	}
	m.v[atF] += float64(arms - 1)
	m.v[atSS] += float64(total * total)
	m.between(s, total, mean)
	for i := range round {
		o := &round[i]
		if o.w == 0 {
			continue
		}
		var d [2]float64
		for part := range s.parts {
			d[part] = o.y[part] - mean[part]
			m.v[s.score(o.arm, part)] += float64(o.w * d[part])
			m.v[s.common(o.arm, part)] += float64(o.w * mean[part])
		}
		m.scatter(s, o.w, d)
		row := m.v[s.row(o.arm):]
		share := o.w / total
		for j := range round {
			if x := &round[j]; x.arm <= o.arm {
				row[x.arm] += float64(share * x.w)
			}
		}
	}
}

// addBeside adds a round's comparisons of each arm with one of them.
func (m *memory) addBeside(s shape, base int, round []weighted) {
	var control *weighted
	for i := range round {
		if round[i].arm == base && round[i].w > 0 {
			control = &round[i]
		}
	}
	if control == nil {
		return
	}
	m.v[atSS] += float64(control.w * control.w)
	m.v[s.row(base)] += control.w
	m.between(s, control.w, control.y)
	for part := range s.parts {
		m.v[s.common(base, part)] += float64(control.w * control.y[part])
	}
	for i := range round {
		o := &round[i]
		if o.w == 0 || o.arm == base {
			continue
		}
		m.v[atF]++
		h := float64(o.w * (control.w / (o.w + control.w)))
		var d [2]float64
		for part := range s.parts {
			d[part] = o.y[part] - control.y[part]
			m.v[s.score(o.arm, part)] += float64(h * d[part])
		}
		m.scatter(s, h, d)
		m.v[s.row(o.arm)] += h
		m.v[s.row(o.arm)+1] += float64(h * (h / control.w))
	}
}

// scatter adds w·d·d' to the scatter within rounds.
func (m *memory) scatter(s shape, w float64, d [2]float64) { addProducts(m.v[atS:], s, w, d) }

// between adds w·y·y' to that of the rounds' means.
func (m *memory) between(s shape, w float64, y [2]float64) {
	addProducts(m.v[atS+s.products():], s, w, y)
}

func addProducts(to []float64, s shape, w float64, d [2]float64) {
	to[0] += float64(float64(w*d[0]) * d[0])
	if s.parts == 2 {
		to[1] += float64(float64(w*d[0]) * d[1])
		to[2] += float64(float64(w*d[1]) * d[1])
	}
}

// merge adds the sums of later rounds, of which there were the given number.
func (m *memory) merge(later *memory, rounds int) {
	past := portable.Pow(m.keep, float64(rounds))
	for i, v := range later.v {
		f := past
		if i == atNN || i == atSS {
			f = float64(past * past)
		}
		m.v[i] = float64(m.v[i]*f) + v
	}
}
