package convex

import (
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Product is V_1 × ... × V_k: the coordinates of the first set come first.
type Product struct {
	sets     []Set
	starts   []int // where each set's coordinates begin; the last entry is the dimension
	diameter float64
}

// NewProduct makes the product of at least one set. An unbounded factor must be an [Attainer], as
// every set of this package is, so that Minimize can keep the destination as it was.
func NewProduct(sets ...Set) (*Product, error) {
	if len(sets) == 0 {
		return nil, noregret.BadInputf("product", "there are 0 sets, want at least 1")
	}
	p := &Product{sets: slices.Clone(sets), starts: make([]int, 1, len(sets)+1)}
	diameters := make([]float64, len(sets))
	for k, s := range sets {
		if s == nil {
			return nil, noregret.BadInputf("product", "sets[%d] is nil, want a set", k)
		}
		diameters[k] = s.Diameter()
		if _, ok := s.(Attainer); !ok && math.IsInf(diameters[k], 1) {
			return nil, noregret.BadInputf("product",
				"sets[%d] is unbounded and of type %T, want one with the method Attains", k, s)
		}
		d := p.starts[k] + s.Dim()
		if err := checkDim("product", d); err != nil {
			return nil, err
		}
		p.starts = append(p.starts, d)
	}
	p.diameter = vec.Norm2(diameters)
	return p, nil
}

// Dim implements [Set].
func (p *Product) Dim() int { return p.starts[len(p.sets)] }

// Factors returns a copy of the list of sets.
func (p *Product) Factors() []Set { return slices.Clone(p.sets) }

// Project projects each part on its set, at the sum of the costs.
func (p *Product) Project(dst, v []float64) {
	for k, s := range p.sets {
		i, j := p.starts[k], p.starts[k+1]
		s.Project(dst[i:j], v[i:j])
	}
}

// Minimize minimizes each part over its set; it fails when one of them does.
func (p *Product) Minimize(dst, c []float64) (float64, error) {
	if !p.Attains(c) {
		return 0, ErrUnbounded
	}
	sum := 0.0
	for k, s := range p.sets {
		i, j := p.starts[k], p.starts[k+1]
		v, err := s.Minimize(dst[i:j], c[i:j])
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

// Attains implements [Attainer].
func (p *Product) Attains(c []float64) bool {
	for k, s := range p.sets {
		if a, ok := s.(Attainer); ok && !a.Attains(c[p.starts[k]:p.starts[k+1]]) {
			return false
		}
	}
	return true
}

// Contains implements [Set]: each part is in its set, at that set's scale.
func (p *Product) Contains(x []float64, tol float64) bool {
	for k, s := range p.sets {
		if !s.Contains(x[p.starts[k]:p.starts[k+1]], tol) {
			return false
		}
	}
	return true
}

// Diameter is √ΣD_k², as exact as the factors' own.
func (p *Product) Diameter() float64 { return p.diameter }

// Moved implements [Mover] when all factors do.
func (p *Product) Moved(c float64, x0 []float64) (Set, error) {
	sets := make([]Set, len(p.sets))
	for k, s := range p.sets {
		var part []float64
		if x0 != nil {
			part = x0[p.starts[k]:p.starts[k+1]]
		}
		var err error
		if sets[k], err = moved("product", s, c, part); err != nil {
			return nil, err
		}
	}
	return NewProduct(sets...)
}

// String describes it in one line, all parameters included.
func (p *Product) String() string {
	names := make([]string, len(p.sets))
	for k, s := range p.sets {
		names[k] = s.String()
	}
	return "product(" + strings.Join(names, ", ") + ")"
}

// restrictProduct splits a separable map over the factors.
func restrictProduct(m separable, p *Product) (pair, error) {
	pairs := make([]pair, len(p.sets))
	for k, s := range p.sets {
		var err error
		if pairs[k], err = restrictAny(m.part(p.starts[k], p.starts[k+1]), s); err != nil {
			return pair{}, err
		}
	}
	starts := p.starts
	out := pair{argmax: func(dst, theta []float64) {
		for k := range pairs {
			i, j := starts[k], starts[k+1]
			pairs[k].argmax(dst[i:j], theta[i:j])
		}
	}}
	if own, ok := m.(*DiagonalQuadratic); ok {
		out.lambda, out.norm = own.StrongConvexity() // holds on every set
	} else {
		out.lambda, out.norm = sumConvexity(pairs)
	}
	return out, nil
}

// sumConvexity is the strong convexity of a sum of maps of separate coordinates, λ_k in an lp norm
// of p ≤ 2 each. Where all norms are l1, (Σ‖h_k‖₁)² ≤ Σ(1/λ_k)·Σλ_k‖h_k‖₁² gives 1/Σ(1/λ_k) in l1.
// Otherwise it is the least λ_k in l2, as no lp norm of p ≤ 2 is less than that.
func sumConvexity(pairs []pair) (float64, Norm) {
	least, inverse, allL1 := math.Inf(1), 0.0, true
	for _, p := range pairs {
		least = min(least, p.lambda)
		inverse += 1 / p.lambda
		allL1 = allL1 && p.norm == Norm(L1)
	}
	if allL1 {
		return 1 / inverse, L1
	}
	return least, L2
}
