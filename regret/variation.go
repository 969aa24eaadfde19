package regret

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Variation measures how much a sequence of losses f_1, ..., f_T changes.
type Variation struct {
	// Total is Σ_{t ≥ 2} sup_x |f_t(x) − f_{t−1}(x)| over the set; +Inf if a difference is
	// unbounded.
	Total float64
	// Hull is the same sum with the supremum over the convex hull of the minimizers x*_1, ...,
	// x*_T only, the variation of Besbes, Gur and Zeevi (2015) for strongly convex losses. It is
	// never above Total. In more than one dimension it takes O(T²d) time, and is NaN where that
	// exceeds 2³².
	Hull float64
	// Path is the path length Σ_{t ≥ 2} ‖x*_t − x*_{t−1}‖ of the minimizers.
	Path float64
	// Exact reports that Total and Hull are exact up to rounding: for losses whose differences are
	// affine, as are those of linear losses, of squared distances, of tilts of one shape and of
	// squared losses with the same features. Otherwise each supremum is estimated by a search, and
	// Total and Hull are lower bounds.
	Exact bool
}

// VariationOf measures the variation of a sequence of losses on a set. The minimizers must exist.
// It takes O(T) minimizations of linear functions over the set, and the time for Hull.
func VariationOf(set convex.Set, losses []loss.Function) (Variation, error) {
	if set == nil || len(losses) == 0 {
		return Variation{}, noregret.BadInputf("losses", "%d losses on the set %v: want a set and at least one loss",
			len(losses), set)
	}
	d := set.Dim()
	for _, f := range losses {
		if f == nil || f.Dim() != d {
			return Variation{}, wrongLoss("functions of the set's dimension", f)
		}
	}
	m, points := newLeast(set), make([]float64, len(losses)*d)
	for t, f := range losses {
		if _, _, err := m.of(points[t*d:(t+1)*d], f); err != nil {
			return Variation{}, err
		}
	}
	return variation(set, losses, points), nil
}

// mostHullTime is the number of products beyond which the variation over the hull is not measured.
const mostHullTime = 1 << 32

// variation is [VariationOf] for known minimizers, one after the other.
func variation(set convex.Set, losses []loss.Function, points []float64) Variation {
	d := set.Dim()
	hull := newHull(points, d)
	c := &change{set: set, slope: make([]float64, d), x: make([]float64, d), y: make([]float64, d)}
	v := Variation{Exact: true}
	measured := d == 1 || float64(len(losses))*float64(len(hull.points)) <= mostHullTime
	var sum, inner, path total
	for t := 1; t < len(losses); t++ {
		x, y := points[(t-1)*d:t*d], points[t*d:(t+1)*d]
		path.add(vec.Distance2(x, y))
		offset, affine := difference(c.slope, losses[t], losses[t-1])
		if affine {
			sum.add(c.affine(offset))
			if measured {
				inner.add(hull.affine(c.slope, offset))
			}
			continue
		}
		v.Exact = false
		most := c.search(losses[t], losses[t-1], x, y)
		if measured {
			within := hull.largest(losses[t], losses[t-1])
			inner.add(within)
			most = max(most, within)
		}
		sum.add(most)
	}
	v.Total, v.Hull, v.Path = sum.value(), inner.value(), path.value()
	if v.Hull = min(v.Hull, v.Total); !measured {
		v.Hull = math.NaN()
	}
	return v
}

// difference writes the slope of f − g to dst and returns its value at 0, if it is affine.
func difference(dst []float64, f, g loss.Function) (offset float64, ok bool) {
	switch f := f.(type) {
	case *loss.Linear:
		if g, ok := g.(*loss.Linear); ok {
			subtract(dst, f.C, g.C)
			return 0, true
		}
	case *loss.SquaredDistance:
		if g, ok := g.(*loss.SquaredDistance); ok { // 2⟨c_g − c_f, x⟩ + ‖c_f‖² − ‖c_g‖²
			subtract(dst, g.C, f.C)
			var sum total
			for i := range dst {
				sum.addProduct(dst[i], -(f.C[i] + g.C[i]))
				dst[i] *= 2
			}
			return sum.value(), true
		}
	case *Tilt:
		if g, ok := g.(*Tilt); ok && g.Shape == f.Shape {
			dst[0] = f.Slope - g.Slope
			return f.Offset - g.Offset, true
		}
	case *loss.Example:
		_, squared := f.Loss.(loss.Squared)
		if g, ok := g.(*loss.Example); ok && squared && g.Loss == f.Loss && slices.Equal(f.Z, g.Z) {
			for i, z := range f.Z { // (y_g − y_f)⟨z, x⟩ + ½(y_f² − y_g²)
				dst[i] = (g.Y - f.Y) * z
			}
			return float64((f.Y - g.Y) * (f.Y + g.Y) / 2), true
		}
	case *loss.Composite:
		if g, ok := g.(*loss.Composite); ok && g.Lambda == f.Lambda {
			return difference(dst, f.F, g.F)
		}
	}
	return 0, false
}

func subtract(dst, x, y []float64) {
	for i := range dst {
		dst[i] = x[i] - y[i]
	}
}

// change finds the supremum of |f − g| over a set.
type change struct {
	set         convex.Set
	slope, x, y []float64
}

// affine is the supremum of |⟨slope, x⟩ + offset|.
func (c *change) affine(offset float64) float64 {
	if vec.IsZero(c.slope) {
		return math.Abs(offset)
	}
	low, err := c.set.Minimize(c.x, c.slope)
	if err != nil {
		return math.Inf(1)
	}
	vec.Scale(c.slope, -1)
	high, err := c.set.Minimize(c.x, c.slope)
	vec.Scale(c.slope, -1)
	if err != nil {
		return math.Inf(1)
	}
	return max(math.Abs(low+offset), math.Abs(offset-high))
}

// search returns a lower bound of the supremum of |f − g|: for both signs it climbs from the two
// minimizers to the points that are extreme in the direction of the difference's gradient, for as
// long as the difference grows.
func (c *change) search(f, g loss.Function, starts ...[]float64) float64 {
	best := 0.0
	for _, sign := range [2]float64{1, -1} {
		for _, start := range starts {
			copy(c.x, start)
			at := sign * (f.Value(c.x) - g.Value(c.x))
			for range 20 {
				f.Subgradient(c.slope, c.x)
				g.Subgradient(c.y, c.x)
				for i, v := range c.y {
					c.slope[i] = sign * (v - c.slope[i]) // downhill for Minimize is uphill here
				}
				if _, err := c.set.Minimize(c.y, c.slope); err != nil {
					return math.Inf(1)
				}
				next := sign * (f.Value(c.y) - g.Value(c.y))
				if !(next > at) {
					break
				}
				at = next
				c.x, c.y = c.y, c.x
			}
			best = max(best, at)
		}
	}
	return best
}

// hull is the convex hull of points: in one dimension its ends, else the distinct points.
type hull struct {
	d      int
	points []float64
}

func newHull(points []float64, d int) *hull {
	if d == 1 {
		return &hull{1, []float64{slices.Min(points), slices.Max(points)}}
	}
	h := &hull{d: d}
	for t := 0; t < len(points); t += d {
		if x := points[t : t+d]; t == 0 || !slices.Equal(x, points[t-d:t]) {
			h.points = append(h.points, x...)
		}
	}
	return h
}

// affine is the largest |⟨slope, x⟩ + offset| over the hull, attained at one of the points.
func (h *hull) affine(slope []float64, offset float64) float64 {
	var most float64
	for t := 0; t < len(h.points); t += h.d {
		most = max(most, math.Abs(vec.DotInOrder(slope, h.points[t:t+h.d])+offset))
	}
	return most
}

// largest is the largest |f − g| at one of the points.
func (h *hull) largest(f, g loss.Function) float64 {
	var most float64
	for t := 0; t < len(h.points); t += h.d {
		x := h.points[t : t+h.d]
		most = max(most, math.Abs(f.Value(x)-g.Value(x)))
	}
	return most
}

// EstimateVariation estimates the variation of a stream from the costs that a player has paid,
// which may have noise: the sum of the absolute differences between the means of consecutive
// batches, without what independent noise of the costs' spread within batches adds on average if
// nothing changes, 2s/√(πn) for each difference of means of n costs of standard deviation s. It is
// at least 0.
//
// It is a diagnostic only. It sees changes at the points played, not the largest ones over the set,
// and takes the movement of the player for a change. Costs beyond the last whole batch are ignored.
// It returns an error of code bad_input for a batch below 2, for fewer than two whole batches, and
// for costs that are not finite.
func EstimateVariation(costs []float64, batch int) (float64, error) {
	if batch < 2 {
		return 0, noregret.BadInputf("batch", "%d: want at least 2", batch)
	}
	count := len(costs) / batch
	if count < 2 {
		return 0, noregret.BadInputf("costs", "%d costs in batches of %d: want at least two batches", len(costs), batch)
	}
	var changes, squares total
	last, n := 0.0, float64(batch)
	for j := range count {
		var sum total
		for i, v := range costs[j*batch : (j+1)*batch] {
			if v-v != 0 {
				return 0, noregret.BadInputf("costs", "cost %d is %v: want finite numbers", j*batch+i, v)
			}
			sum.add(v)
		}
		mean := sum.value() / n
		for _, v := range costs[j*batch : (j+1)*batch] {
			squares.addProduct(v-mean, v-mean)
		}
		if j > 0 {
			changes.add(math.Abs(mean - last))
		}
		last = mean
	}
	deviation := math.Sqrt(squares.value() / (n - 1) / float64(count))
	noise := float64(float64(count-1) * float64(2*deviation/math.Sqrt(math.Pi*n)))
	return max(changes.value()-noise, 0), nil
}
