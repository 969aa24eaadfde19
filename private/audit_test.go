package private

import (
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/dp/audit"
	"github.com/noregret/noregret/internal/testsize"
)

// The empirical audit of the bandit: an observer sees what all others see and guesses which of two
// worlds is the true one, which differ in one user's record. The error rates give a lower bound on
// μ with 99.9 % confidence.

// The audited bandit: two arms in dimension 1 and one warm-up round each, so that round 3 is the
// second step of both arms; 64 steps of each arm. The records of all others are null. User 3 has
// the context +1 or −1, which makes different arms be pulled when the public estimates differ.
func auditOptions(seed uint64) HDBOptions {
	o := banditOptions(1, 2, 65, 1, seed)
	o.Problem.Clip = 0.01 // clips every increment
	o.Gap = 100
	o.RewardLow, o.RewardHigh = -3, 3
	o.Noise.Budget = auditBudget
	return o
}

// auditClaim is μ of the audited bandit, auditBudget its budget and wideBudget one with half the
// noise.
const auditClaim = 1.0

var (
	auditBudget = must(dp.RhoBudget(auditClaim*auditClaim/2, 1e-4))
	wideBudget  = must(dp.RhoBudget(2*auditClaim*auditClaim, 1e-4))
)

// observe plays a world, user 3 having context x and reward y, and returns the noisy prefix sums at
// steps 2, 4, ..., 64 of both arms, which are the nodes with user 3's step.
func observe(o HDBOptions, x, y float64) (nodes [2][6]float64, estimates [2][]float64) {
	b := must(NewHDB(o))
	for round := range 65 {
		context, reward := []float64{0}, 0.0
		if round == 2 {
			context[0], reward = x, y
			for a := range 2 {
				estimates[a] = append([]float64(nil), b.Theta(a)...)
			}
		}
		if _, err := b.Choose(context); err != nil {
			panic(err)
		}
		if err := b.Reward(reward); err != nil {
			panic(err)
		}
		for a, l := range b.arms {
			if s := l.Steps(); s >= 2 && s&(s-1) == 0 {
				level := int(math.Log2(float64(s))) - 1
				nodes[a][level] = l.Sum()[0]
			}
		}
	}
	return nodes, estimates
}

// expected is what user 3 adds to the sums of the arms, given the public estimates.
func expected(o HDBOptions, estimates [2][]float64, x, y float64) (g [2]float64) {
	arm := 0
	if x*estimates[1][0] > x*estimates[0][0] {
		arm = 1
	}
	p := o.Problem
	p.Labels = 3
	front := newFrontEnd(p)
	lattice := must(dp.NewLattice(dp.DefaultLatticeConfig(1, 64, dp.L2, p.Clip)))
	k := []int64{0}
	lattice.Quantize(front.increment(2, []float64{x}, y, estimates[arm], []float64{0}), k)
	g[arm] = float64(k[0]) * lattice.Spacing()
	return g
}

// TestOracleO8 audits joint differential privacy: the likelihood ratio of all nodes of all arms
// that hold user 3's step does not separate the worlds by more than the claim, also where the
// pulled arm differs; the same observer separates them if the noise has half its scale.
func TestOracleO8(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(4000, 1500)
	for _, half := range []bool{false, true} {
		flips := 0
		trial := func(run uint64, second bool) (float64, error) {
			o := auditOptions(run)
			if half {
				o.Noise.Budget = wideBudget
			}
			x := -1.0
			if second {
				x = 1
			}
			nodes, estimates := observe(o, x, -3)
			plus, minus := expected(o, estimates, 1, -3), expected(o, estimates, -1, -3)
			if (plus[0] != 0) != (minus[0] != 0) {
				flips++
			}
			ratio := 0.0
			for a := range 2 {
				for _, v := range nodes[a] {
					ratio += (plus[a] - minus[a]) * (v - (plus[a]+minus[a])/2)
				}
			}
			return ratio, nil
		}
		result := must(audit.Run(trial, runs, 0, 0.999))
		t.Logf("half the noise %v: μ ≥ %.3f, claim %v, ε ≥ %.2f, %d flips in %d runs", half, result.MuLow, auditClaim,
			must(result.Epsilon(1e-4)), flips, 2*runs)
		if flips < runs/4 {
			t.Errorf("the pulled arm differs in %d of %d runs only", flips, 2*runs)
		}
		if (result.MuLow > auditClaim) != half {
			t.Errorf("half the noise %v: the audit finds μ ≥ %v, the claim is %v", half, result.MuLow, auditClaim)
		}
	}
}

// TestOracleO8GlobalIndex: an arm that counts its steps by the global round gives the records of
// its warm-up the weight (K·t₀+1)/(t₀+1) after it, about K times what the noise is made for. The
// audit of a warm-up record catches it, and passes the local count.
func TestOracleO8GlobalIndex(t *testing.T) {
	testsize.NoRace(t)
	const arms, warmUp, steps, clip = 6, 8, 64, 1.0
	runs := testsize.Of(4000, 1500)
	for _, global := range []bool{false, true} {
		trial := func(run uint64, second bool) (float64, error) {
			p := NewProblem(must(NewBall(1, 2, 1)), HalfSquared(), 1, 1, steps)
			p.Clip = clip
			noise := testNoise(run)
			noise.Budget = auditBudget
			l := must(NewTOFW(p, noise))
			first := -clip
			if second {
				first = clip
			}
			mean := 0.0
			// All records are null; record 1, of value ±clip, is added to the sums below.
			for step := int64(1); step <= steps; step++ {
				if err := l.StepNull(); err != nil {
					return 0, err
				}
				weight := 1.0
				if global && step > warmUp {
					weight = float64(arms*warmUp+1) / float64(warmUp+1)
				}
				if step&(step-1) == 0 {
					mean += weight * (l.Sum()[0] + first*weight) / (l.Deviation(step) * l.Deviation(step))
				}
			}
			return mean, nil
		}
		result := must(audit.Run(trial, runs, 0, 0.999))
		t.Logf("global index %v: μ ≥ %.3f, claim %v, ε ≥ %.2f", global, result.MuLow, auditClaim,
			must(result.Epsilon(1e-4)))
		if (result.MuLow > auditClaim) != global {
			t.Errorf("global index %v: the audit finds μ ≥ %v, the claim is %v", global, result.MuLow, auditClaim)
		}
	}
}
