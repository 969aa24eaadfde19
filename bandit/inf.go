package bandit

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// INF draws from the weights of mirror descent with the Tsallis entropy ψ_q on importance-weighted
// estimates (Audibert and Bubeck 2009; Orabona 2019, Algorithm 10.3):
//
//	p_i = (Λ + ((1−q)/q)·η·G̃_i)^{−1/(1−q)},  G̃_A += g/p_A
//
// where Λ makes the sum 1, for losses g in [0, L]. With q = ½ and [INFRate] the expected regret is
// at most 2L·√(2·d·T), without the ln d of [Exp3]; as q goes to 1 the weights become those of Exp3.
// No weight is 0 unless it underflows. [INFBound] is the guarantee.
//
// Λ is found by Newton's method on (Σ_i p_i)^{−(1−q)}, which is concave, so that the iterates rise
// to the root. A round costs O(d) for each of about 7 iterations and allocates nothing. [Exp3] is
// the limit q = 1.
type INF struct {
	// Rate is η, from 1e-100 to 1e100.
	Rate float64
	// Q is q in (0, 1), the exponent of the entropy.
	Q float64
	// Limit is L, from 1e-100 to 1e100.
	Limit float64
}

func (f INF) plan(int) (*plan, error) {
	if err := checkRate(f.Rate, f.Limit); err != nil {
		return nil, err
	}
	if !(f.Q > 0 && f.Q < 1) {
		return nil, noregret.BadInputf("q", "%v: want a number between 0 and 1", f.Q)
	}
	return estimates("inf", fmt.Sprintf(", rate=%v, q=%v, limit=%v", f.Rate, f.Q, f.Limit), 0, f.Limit,
		&weights{rule: f, unit: 1, power: true}), nil
}

func (f INF) weigh(p, sums []float64, _ float64)            { tsallis(p, sums, f.Rate, f.Q) }
func (f INF) credit(sums []float64, c *drawn, loss float64) { creditImportance(sums, c, loss) }

// Normalization is Λ for these sums of estimates.
func (f INF) Normalization(estimates []float64) float64 {
	scale := float64((1 - f.Q) / f.Q * f.Rate)
	v := tsallis(make([]float64, len(estimates)), estimates, f.Rate, f.Q)
	return 1 + v - float64(scale*slices.Min(estimates))
}

// tsallisSteps limits the iterations of Newton's method: 7 were the most seen with up to 1e5 arms.
const tsallisSteps = 60

// tsallis writes the weights p_i = (1 + v + δ_i)^{−1/(1−q)} with δ_i = ((1−q)/q)·η·(G̃_i − min G̃)
// and returns v ≥ 0, with which they sum to 1.
func tsallis(p, sums []float64, rate, q float64) (v float64) {
	r := 1 - q
	scale, least := float64(r/q*rate), slices.Min(sums)
	high := portable.Expm1(r * portable.Log(float64(len(sums))))
	enough := max(1e-14, 1e-16*float64(len(sums)))
	total := 0.0
	for range tsallisSteps {
		total = 0
		slope := 0.0
		for i, g := range sums {
			x := v + float64(scale*(g-least))
			if q == 0.5 {
				p[i] = 1 / float64((1+x)*(1+x))
			} else {
				p[i] = portable.Exp(-portable.Log1p(x) / r)
			}
			total += p[i]
			slope += p[i] / (1 + x)
		}
		if total-1 <= enough {
			break
		}
		v = min(high, v+float64(total/slope*portable.Expm1(r*portable.Log(total))))
	}
	for i := range p {
		p[i] /= total
	}
	return v
}

// INFRate is the rate η = √(2·q·d^{1−2q}/((1−q)·T))/L for T rounds with losses in [0, limit]:
// √2/(L·√T) for q = ½.
func INFRate(arms, rounds int, q, limit float64) float64 {
	power := portable.Pow(float64(arms), 1-2*q)
	return math.Sqrt(float64(2*q*power)/((1-q)*float64(rounds))) / limit
}

// INFBound bounds the expected regret of [INF] after T rounds:
//
//	(d^{1−q} − 1)/(η·(1−q)) + η·d^q·L²·T/(2q)
//
// (Orabona 2019, Theorem 10.3 for q = ½). At [INFRate] it is at most L·√(2·d·T/(q·(1−q))), which is
// least for q = ½: 2L·√(2·d·T). It is 0 for one arm.
func INFBound(arms, rounds int, q, limit, rate float64) float64 {
	if arms == 1 {
		return 0
	}
	ln := logArms(arms)
	variance := float64(portable.Exp(q*ln) * float64(rate*float64(limit*limit)) * float64(rounds) / (2 * q))
	return portable.Expm1((1-q)*ln)/(rate*(1-q)) + variance
}

// TsallisEntropy is ψ_q(x) = (1 − Σ_i x_i^q)/(1 − q), the negative Tsallis entropy of x in the
// simplex, for q in (0, 1), and its limit Σ_i x_i·ln x_i for q = 1.
func TsallisEntropy(x []float64, q float64) float64 {
	sum := 0.0
	for _, v := range x {
		if q == 1 {
			sum += portable.XLogX(v)
		} else if v > 0 { // x^q − x without cancellation, as Σ x = 1
			sum -= float64(v * portable.Expm1((q-1)*portable.Log(v)))
		}
	}
	if q == 1 {
		return sum
	}
	return sum / (1 - q)
}
