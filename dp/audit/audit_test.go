package audit_test

import (
	"fmt"
	"log"
	"math"
	"math/bits"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/dp/audit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

const (
	steps = 64
	clip  = 5.0
	delta = 1e-4
	// confidence of each bound: a tight mechanism crosses bounds of 97.5 % now and then.
	confidence = 0.999
)

// stream returns a factory of streams for records, or with half the noise if broken.
func stream(t testing.TB, kind dp.StreamKind, epsilon float64, halved, secure bool) func(uint64) (*dp.Stream, error) {
	t.Helper()
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(1, steps, dp.L2, clip))
	if err != nil {
		t.Fatal(err)
	}
	budget, err := dp.GDPBudget(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	protection := dp.PerRecord()
	if halved { // sensitivity C where 2C is claimed
		protection.Adjacency = dp.ZeroOut
	}
	return func(run uint64) (*dp.Stream, error) {
		c := dp.StreamConfig{Kind: kind, Lattice: lattice, Batch: 1, Protection: protection, Budget: budget}
		if secure {
			return dp.NewStream(c)
		}
		return dp.NewStream(c, dp.WithInsecureDeterministicNoiseForTesting(run))
	}
}

func run(t *testing.T, name string, trial audit.Trial, runs int, epsilon float64, broken bool) audit.Result {
	t.Helper()
	r, err := audit.Run(trial, runs, 0, confidence)
	if err != nil {
		t.Fatal(err)
	}
	proved, err := r.Epsilon(delta)
	if err != nil {
		t.Fatal(err)
	}
	refuted, err := r.Refutes(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: mu %.3f, lower bound %.3f, epsilon at least %.2f", name, r.Mu, r.MuLow, proved)
	if refuted != broken {
		t.Errorf("%s: refuted is %v with a lower bound of %.3f on mu and of %.2f on epsilon, claimed %g",
			name, refuted, r.MuLow, proved, epsilon)
	}
	return r
}

// The audit passes every kind of stream as it is shipped.
func TestOracleO6ShippedStreamsPass(t *testing.T) {
	testsize.NoRace(t)
	for _, kind := range []dp.StreamKind{dp.Tree, dp.Honaker, dp.Doubling, dp.SquareRoot} {
		run(t, kind.String(), audit.Stream(stream(t, kind, 1, false, false)), testsize.Of(10_000, 2000), 1, false)
	}
	run(t, "secure tree", audit.Stream(stream(t, dp.Tree, 1, false, true)), testsize.Of(10_000, 2000), 1, false)
}

// The audit is tight: at ε = 8 it measures the claimed μ, neither less noise nor more.
func TestOracleO6Calibration(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(10_000, 2500)
	claim, err := dp.GaussianMu(8, delta)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(claim-1.841) > 1e-3 {
		t.Errorf("the claim is mu = %g, want 1.841", claim)
	}
	r := run(t, "tree at 8", audit.Stream(stream(t, dp.Tree, 8, false, false)), runs, 8, false)
	if limit := 0.05 * math.Sqrt(10_000/float64(runs)); math.Abs(r.Mu/claim-1) > limit {
		t.Errorf("measured mu %g, claimed %g", r.Mu, claim)
	}
}

// The audit refutes each broken calibration.
func TestOracleO6CatchesHalfTheNoise(t *testing.T) {
	testsize.NoRace(t)
	for _, kind := range []dp.StreamKind{dp.Tree, dp.Honaker, dp.Doubling, dp.SquareRoot} {
		run(t, kind.String()+" with half the noise", audit.Stream(stream(t, kind, 1, true, false)),
			testsize.Of(10_000, 4000), 1, true)
	}
}

// printedSigma is the constant of Theorem 3.1 of Han et al. for 7 levels and sensitivity 2·clip.
func printedSigma() float64 {
	const levels = 7
	return math.Sqrt(8*levels*levels*math.Log(levels/delta)) * clip
}

// tree is a binary counter in one dimension with any noise; redraw draws all slots again in every
// step.
func tree(noise func() float64, second, redraw bool) []float64 {
	released := make([]float64, steps+1)
	slots := make([]float64, 8)
	sum := -clip
	if second {
		sum = clip
	}
	for t := 1; t <= steps; t++ {
		slots[bits.TrailingZeros(uint(t))] = noise()
		released[t] = sum
		for level := range slots {
			if t>>level&1 == 1 {
				if redraw {
					slots[level] = noise()
				}
				released[t] += slots[level]
			}
		}
	}
	return released
}

// With the printed scale of the Gamma distribution, 2σ for 2σ², the noise has size √σ.
func TestOracleO6CatchesTheScaleOfTheGammaDistribution(t *testing.T) {
	for _, typo := range []bool{false, true} {
		sigma := printedSigma()
		if typo {
			sigma = math.Sqrt(sigma)
		}
		trial := func(run uint64, second bool) (float64, error) {
			g, err := dp.NewUnsafeGeneralizedGaussian(1, 2, sigma, run)
			if err != nil {
				return 0, err
			}
			z := make([]float64, 1)
			released := tree(func() float64 { g.Draw(z); return z[0] }, second, false)
			sum := 0.0
			for t := 1; t <= steps; t *= 2 {
				sum += released[t]
			}
			return sum, nil
		}
		run(t, fmt.Sprintf("generalized Gaussian, typo %v", typo), trial, testsize.Of(4000, 1500), 1, typo)
	}
}

// Slots that are drawn again in every step let the observer average the noise away.
func TestOracleO6CatchesRedrawnSlots(t *testing.T) {
	testsize.NoRace(t)
	mu, err := dp.GaussianMu(1, delta)
	if err != nil {
		t.Fatal(err)
	}
	sigma := 2 * clip * math.Sqrt(7) / mu
	for _, redraw := range []bool{false, true} {
		trial := func(run uint64, second bool) (float64, error) {
			r := random.New(run, "redrawn")
			released := tree(func() float64 { return sigma * stat.Normal(r) }, second, redraw)
			sum := 0.0
			for t := 1; t <= steps; t++ { // the best weights for independent noise
				sum += released[t] / float64(bits.OnesCount(uint(t)))
			}
			return sum, nil
		}
		run(t, fmt.Sprintf("redrawn %v", redraw), trial, testsize.Of(10_000, 4000), 1, redraw)
	}
}

// The printed index of the norm, min{q − 1, ln d − 1}, is below 1 in five dimensions: the density
// has peaks on the axes which show a shift along the diagonal. The corrected index hides it.
func TestOracleO6CatchesThePrintedNorm(t *testing.T) {
	const dim, q = 5, 3.0
	for _, printed := range []bool{false, true} {
		// As private.NewRegularity has it for d = 5: r = 2 and κ = d^(1 − 2/q).
		index, kappa := 2.0, math.Pow(dim, 1-2/q)
		if printed {
			index, kappa = math.Log(dim)-1, 2
		}
		// One release of sensitivity 1 in l3, by Lemma 2.1 of Han et al.
		sigma := math.Sqrt(2 * kappa * math.Log(1/delta))
		shift := math.Pow(dim, -1/q)
		norm := func(z []float64, move float64) float64 {
			sum := 0.0
			for _, v := range z {
				sum += math.Pow(math.Abs(v-move), index)
			}
			return math.Pow(sum, 2/index)
		}
		trial := func(run uint64, second bool) (float64, error) {
			g, err := dp.NewUnsafeGeneralizedGaussian(dim, index, sigma, run)
			if err != nil {
				return 0, err
			}
			z := make([]float64, dim)
			g.Draw(z)
			if second {
				for j := range z {
					z[j] += shift
				}
			}
			return norm(z, 0) - norm(z, shift), nil // the logarithm of the likelihood ratio
		}
		run(t, fmt.Sprintf("printed norm %v", printed), trial, testsize.Of(4000, 2000), 1, printed)
	}
}

// The bound of Clopper and Pearson against its definition and published values.
func TestUpper(t *testing.T) {
	for _, c := range []struct {
		k, n             int
		confidence, want float64
	}{
		{0, 10, 0.975, 0.3085},
		{5, 10, 0.975, 0.8129},
		{10, 10, 0.975, 1},
		{1, 100, 0.95, 0.0466},
		{0, 3, 0.95, 0.6316},
	} {
		if got := audit.Upper(c.k, c.n, c.confidence); math.Abs(got-c.want) > 6e-5 {
			t.Errorf("upper bound of %d of %d = %.5f, want %g", c.k, c.n, got, c.want)
		}
	}
	if _, err := audit.Run(nil, 0, 0, 0.9); err == nil {
		t.Error("an audit without runs")
	}
}

// An audit refutes a stream with half the noise that it needs.
func ExampleRun() {
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(1, 16, dp.L2, 1))
	if err != nil {
		log.Fatal(err)
	}
	budget, err := dp.GDPBudget(1, 1e-4)
	if err != nil {
		log.Fatal(err)
	}
	weaker := dp.Protection{Adjacency: dp.ZeroOut, Records: 1}
	fresh := func(run uint64) (*dp.Stream, error) {
		c := dp.StreamConfig{Kind: dp.Tree, Lattice: lattice, Batch: 1, Protection: weaker, Budget: budget}
		return dp.NewStream(c,
			dp.WithInsecureDeterministicNoiseForTesting(run))
	}
	result, err := audit.Run(audit.Stream(fresh), 4000, 0, 0.999)
	if err != nil {
		log.Fatal(err)
	}
	refuted, err := result.Refutes(1, 1e-4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("claim of epsilon = 1 for replaced records refuted:", refuted)
	// Output: claim of epsilon = 1 for replaced records refuted: true
}
