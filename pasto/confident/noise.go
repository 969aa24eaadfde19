package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
)

// noise estimates the variance τ² of the effects of rounds. For y = μ_k + u_t + e, where u_t is
// common to the groups of round t, the mean product of two groups' deviations in a round is τ². For
// rounds of one group, τ² is separated from σ² by sizes, σ²/size + τ² being what a group misses
// the mean by, or by what groups of one arm and round differ by.
type noise struct {
	Shared   []float64 // M: Σ over rounds of products of two groups' deviations
	Pairs    float64   // Σ of the weights of these
	Across   []float64 // M: Σ over rounds of products of two arms' deviations
	AcrossOf float64   // Σ weight/size² of these: their variance without effects is 2σ⁴·AcrossOf
	Lone     singleGroups
	// M: Σ of the squared differences between a group and the group before it of the same arm and
	// round
	Inner   []float64
	Inners  float64 // the number of these
	Between float64 // rounds that served an arm for at least the second time
}

// singleGroups are sums over rounds of one group of an arm seen before. Let d be the deviation of
// the group from the arm's mean and q = d²·S/(S + size), for the arm's earlier size S. The mean of
// q is σ²/size + τ²·part, where part = (S + C/S)/(S + size) for the C = Σ size² of the arm.
type singleGroups struct {
	Rounds  float64
	Inverse float64   // Σ 1/size
	Part    float64   // Σ part
	Sized   float64   // Σ size·part
	Heavy   float64   // Σ (size·part)²
	Square  []float64 // M: Σ q
	Product []float64 // M: Σ size·q
}

func newNoise(m int) noise {
	return noise{
		Shared: make([]float64, m), Across: make([]float64, m), Inner: make([]float64, m),
		Lone: singleGroups{Square: make([]float64, m), Product: make([]float64, m)},
	}
}

// noiseWork is the workspace of noise.
type noiseWork struct {
	sum, own []float64 // M
	before   []int     // of each arm, 1 + the index of its last group in the running round
}

// addRound adds a round, of which s knows nothing yet. Arms without a mean are ignored.
func (n *noise) addRound(s *armStats, obs []pasto.Observation, sums *roundSums, w *noiseWork) {
	n.addAcross(s, sums, w)
	n.addWithinArm(s, obs, w)
	m := len(n.Shared)
	total, known := 0.0, 0
	for i := range obs {
		if s.Rounds[obs[i].Arm] > 0 {
			total += unit(&obs[i])
			known++
		}
	}
	if known == 1 && len(obs) == 1 {
		n.addSingleGroup(s, &obs[0])
	}
	if known < 2 {
		return
	}
	clear(w.sum)
	clear(w.own)
	each := 0.0
	for i := range obs {
		k := obs[i].Arm
		if s.Rounds[k] == 0 {
			continue
		}
		share := unit(&obs[i]) / total
		each += float64(share * share)
		for j, v := range obs[i].Metrics {
			r := float64(share * (v - s.Raw.Mean[k*m+j]))
			w.sum[j] += r
			w.own[j] += float64(r * r)
		}
	}
	for j, r := range w.sum {
		n.Shared[j] += float64(r*r) - w.own[j]
	}
	n.Pairs += 1 - each
}

// addAcross adds the products of the deviations of two arms.
func (n *noise) addAcross(s *armStats, sums *roundSums, w *noiseWork) {
	m := len(n.Across)
	if len(sums.known) < 2 {
		return
	}
	clear(w.sum)
	clear(w.own)
	each := 0.0
	for _, a := range sums.known {
		x := &sums.arms[a]
		share := x.size / sums.size
		each += float64(share * share)
		for i, v := range x.mean {
			r := float64(share * (v - s.Raw.Mean[x.arm*m+i]))
			w.sum[i] += r
			w.own[i] += float64(r * r)
		}
	}
	for i, r := range w.sum {
		n.Across[i] += float64(r*r) - w.own[i]
	}
	n.AcrossOf += (1 - each) / sums.size / sums.size
}

// addSingleGroup adds a round of one group, of an arm that has a mean.
func (n *noise) addSingleGroup(s *armStats, o *pasto.Observation) {
	a, m, k, w, size := &n.Lone, len(n.Shared), o.Arm, unit(o), s.Raw.Weight[o.Arm]
	kept := size / (size + w)
	part := float64(kept * (1 + s.Raw.Heavy[k]/size/size))
	a.Rounds++
	a.Inverse += 1 / w
	a.Part += part
	sized := float64(w * part)
	a.Sized += sized
	a.Heavy += float64(sized * sized)
	for i, v := range o.Metrics {
		d := v - s.Raw.Mean[k*m+i]
		q := float64(float64(d*d) * kept)
		a.Square[i] += q
		a.Product[i] += float64(w * q)
	}
}

// singleGroupEfficiency is the measured ratio of the degrees of freedom of τ² from rounds of one
// group to the number of such rounds.
const singleGroupEfficiency = 0.6

// effectiveRounds returns how many rounds with several groups those with one group are worth for
// τ²: none if their sizes are alike, as 1/size then does not separate σ² from τ², and (Σ
// size)²/Σ size² if they differ by orders of magnitude.
func (a *singleGroups) effectiveRounds() float64 {
	// ≥ 0 but for the part of the first rounds
	apart := float64(a.Inverse*(a.Sized/a.Rounds)) - a.Part
	if !(a.Rounds >= 2) || !(apart > float64(0.01*a.Part)) || math.IsInf(apart, 1) {
		return 0
	}
	return float64(singleGroupEfficiency * min(float64(a.Rounds*(apart/(apart+a.Part))),
		float64(a.Sized*(a.Sized/a.Heavy))))
}

// addWithinArm adds the differences between groups of one arm and round, which do not depend on
// the effects of the round.
func (n *noise) addWithinArm(s *armStats, obs []pasto.Observation, w *noiseWork) {
	again := false
	for i := range obs {
		k := obs[i].Arm
		again = again || s.Rounds[k] > 0
		if j := w.before[k]; j > 0 {
			was := &obs[j-1]
			both := unit(was) / (unit(was) + unit(&obs[i]))
			for m, v := range obs[i].Metrics {
				d := v - was.Metrics[m]
				n.Inner[m] += float64(float64(unit(&obs[i])*both) * float64(d*d))
			}
			n.Inners++
		}
		w.before[k] = i + 1
	}
	for i := range obs {
		w.before[obs[i].Arm] = 0
	}
	if again {
		n.Between++
	}
}

// byScatter returns the degrees of freedom of τ² as the difference of the arms' scatter between
// rounds and within them, the only estimate if few rounds have groups of two arms and sizes are
// alike. It returns 0 if another estimate of τ² is better. Successive differences of n groups
// have ⅔·n degrees of freedom.
func (n *noise) byScatter(s *scatter) float64 {
	free := min(n.Inners*2/3, n.Between)
	if !(s.Spread > 0) || free <= float64(4*(n.Pairs+n.Lone.effectiveRounds())) {
		return 0
	}
	return free
}

// freedom returns the approximate degrees of freedom of the estimate of τ².
func (n *noise) freedom(s *scatter) float64 {
	if free := n.byScatter(s); free > 0 {
		return free
	}
	return n.Pairs + n.Lone.effectiveRounds()
}

// tau returns τ² of metric i. It averages the mean product of two groups of a round and, for rounds
// of one group, the solution of Σ q = σ²·Σ 1/size + τ²·Σ part and Σ size·q = σ²·n + τ²·Σ size·part,
// by their degrees of freedom.
func (n *noise) tau(s *scatter, i int) float64 {
	if n.byScatter(s) > 0 {
		return max(s.Pool[i]-float64(s.Freedom*(n.Inner[i]/n.Inners)), 0) / s.Spread
	}
	a, sum, free := &n.Lone, n.Shared[i], n.Pairs
	if known := a.effectiveRounds(); known > 0 {
		mean := a.Inverse / a.Rounds
		sum += float64(known * ((float64(mean*a.Product[i]) - a.Square[i]) / (float64(mean*a.Sized) - a.Part)))
		free += known
	}
	if !(free > 0) {
		return 0
	}
	return max(sum/free, 0)
}

// surely is how many standard errors, as it would have without any effects, an estimate of τ² from
// products must be above 0 to count.
const surely = 3

// shown reports whether τ² of metric i is surely above 0 by the products of arms, for a variance
// sigma of a unit of size. Groups of one arm would show a change of that arm as well.
func (n *noise) shown(i int, sigma float64) bool {
	return n.AcrossOf > 0 && n.Across[i] > float64(surely*float64(sigma*math.Sqrt(float64(2*n.AcrossOf))))
}
