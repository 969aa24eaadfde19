package offpolicy

import (
	"github.com/noregret/noregret/internal/portable"
)

// ratio tests that the arms were drawn with the probabilities p that the rows state, which may
// differ from row to row. Its evidence is the likelihood ratio of
//
//	q(a) ∝ p(a)·(c(a) + s(a)) / (E(a) + s(a))
//
// and p, where c are the counts of the earlier rows, E the sums of their probabilities, and s the
// prior's weight times the mean of p(a) to this row. Since q is known before the arm is drawn, the
// evidence is a martingale if p is right, and exceeds 1/alpha ever with probability at most alpha
// (Ville's inequality). If all rows have the same p, it is that of the SampleRatio of package
// confseq (Lindon and Malek 2022): q is then the predictive distribution of the Dirichlet around p.
type ratio struct {
	prior    float64
	rows     int64
	counts   []float64
	expected []float64
	logE     float64
	worst    float64
}

func newRatio(arms int, prior float64) *ratio {
	return &ratio{prior: prior, counts: make([]float64, arms), expected: make([]float64, arms)}
}

// add adds a row of an arm with p[arm] > 0.
func (r *ratio) add(arm int, p []float64) {
	support := 0
	for _, x := range p {
		if x > 0 {
			support++
		}
	}
	mass := r.prior * float64(support)
	total, sum, own := 0.0, 0.0, 0.0 // Σ p·tilt, Σ p, and the tilt of the arm
	for a, x := range p {
		if x == 0 {
			continue
		}
		s := float64(mass * ((r.expected[a] + x) / float64(r.rows+1)))
		tilt := (r.counts[a] + s) / (r.expected[a] + s)
		total += float64(x * tilt)
		sum += x
		if a == arm {
			own = tilt
		}
	}
	r.logE += portable.Log(own) - portable.Log(total/sum)
	r.worst = max(r.worst, r.logE)
	for a, x := range p {
		r.expected[a] += x
	}
	r.counts[arm]++
	r.rows++
}

func (r *ratio) p() float64 { return min(1, portable.Exp(-r.worst)) }
