package aggregate

import (
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/dp/audit"
	"github.com/noregret/noregret/internal/testsize"
)

// TestAudit attacks the sums. The observer knows everything except whether the three decisions of a
// unit in round 1, all in one arm, have the lowest or the highest values in all four metrics. The
// shipped calibration passes; one that ignores the contribution or the number of metrics is refuted
// with 99.9 % confidence.
func TestAudit(t *testing.T) {
	claim := DefaultConfig(1, make([]Range, 4), 16)
	claim.Contribution, claim.Epsilon, claim.Delta, claim.Kind = 3, 4, 1e-5, dp.Tree
	for i := range claim.Metrics {
		claim.Metrics[i] = Range{-1, 2}
	}
	for _, c := range []struct {
		name   string
		fresh  func(run uint64) (*Sums, error)
		broken bool
	}{
		{"shipped", func(run uint64) (*Sums, error) {
			return New(claim, dp.WithInsecureFastNoiseForTesting(run))
		}, false},
		{"contribution ignored", func(run uint64) (*Sums, error) {
			c := claim
			c.Contribution = 1
			return New(c, dp.WithInsecureFastNoiseForTesting(run))
		}, true},
		{"number of metrics ignored", func(run uint64) (*Sums, error) {
			s, err := New(claim)
			if err != nil {
				return nil, err
			}
			lattice, err := dp.NewIntegerLattice(4, 16*s.config.Batch, norm(1, s.limit))
			if err != nil {
				return nil, err
			}
			budget, err := dp.GDPBudget(claim.Epsilon, claim.Delta)
			if err != nil {
				return nil, err
			}
			s.stream, err = dp.NewStream(dp.StreamConfig{
				Kind: dp.Tree, Lattice: lattice, Batch: int(s.config.Batch), Sums: true, Budget: budget,
				Protection: dp.PerUser(3),
			}, dp.WithInsecureFastNoiseForTesting(run))
			return s, err
		}, true},
	} {
		trial := func(run uint64, second bool) (statistic float64, err error) {
			s, err := c.fresh(run)
			if err != nil {
				return 0, err
			}
			value := -1.0
			if second {
				value = 2
			}
			row, out := make([]int64, 4), make([]float64, 4)
			s.Quantize([]float64{value, value, value, value}, row)
			for i := range row {
				row[i] *= 3
			}
			for t := int64(1); t <= 16; t++ {
				if err := s.Step(row, out); err != nil {
					return 0, err
				}
				clear(row)
				if t&(t-1) == 0 { // a node of the counter that holds round 1
					for _, v := range out {
						statistic += v
					}
				}
			}
			return statistic, nil
		}
		result := must(audit.Run(trial, testsize.Of(6000, 1500), 0, 0.999))
		refuted := must(result.Refutes(claim.Epsilon, claim.Delta))
		t.Logf("%s: μ about %.2f, at least %.2f, claim %.2f", c.name, result.Mu, result.MuLow,
			must(dp.GaussianMu(claim.Epsilon, claim.Delta)))
		if refuted != c.broken {
			t.Errorf("%s: refuted is %v", c.name, refuted)
		}
		if claim := must(dp.GaussianMu(claim.Epsilon, claim.Delta)); !c.broken && math.Abs(result.Mu/claim-1) > 0.15 {
			t.Errorf("%s: the attack finds μ = %v of %v: it is not the strongest", c.name, result.Mu, claim)
		}
	}
}
