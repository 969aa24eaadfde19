package compare

import (
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// Inflation are the factors, at least 1, by which returning units raise the variances of sums, by
// metric; nil where no unit returns.
type Inflation []float64

// Of returns the factor of a metric; of a ratio the larger one of its parts'.
func (x Inflation) Of(d *definition.Definition, metric int) float64 {
	if x == nil {
		return 1
	}
	if r := d.RatioIndex(metric); r >= 0 {
		parts := d.Ratios()[r]
		return max(x[parts.Numerator], x[parts.Denominator])
	}
	return x[metric]
}

// Deflate returns a sequence of as many independent observations as have the same variance of the
// mean.
func Deflate(s confseq.Sequence, inflation float64) confseq.Sequence {
	if inflation > 1 && s.N > 0 {
		n := max(int64(float64(s.N)/inflation), 1)
		s.M2 *= float64(n) / float64(s.N)
		s.N = n
	}
	return s
}

// DeflatePair is [Deflate] for both parts of a ratio.
func DeflatePair(p confseq.Pair, inflation float64) confseq.Pair {
	if inflation > 1 && p.N > 0 {
		n := max(int64(float64(p.N)/inflation), 1)
		f := float64(n) / float64(p.N)
		p.N = n
		p.XX *= f
		p.YY *= f
		p.Cross *= f
	}
	return p
}
