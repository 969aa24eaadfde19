package ascent

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// scgdByHand is the recursion of [SCGD] with the matrix Û_t written out, for metrics x and y and
// the objective f = x − 0.5·(min(0, y − 0.2))².
type scgdByHand struct {
	lw, pi, p []float64 // log-weights; π_t and p_t of the current round
	y         [2]float64
	average   []float64 // p̄
	t         float64   // of the current round
}

// serve computes π_t and p_t.
func (h *scgdByHand) serve() {
	h.t++
	sum := 0.0
	for _, v := range h.lw {
		sum += math.Exp(v)
	}
	eps := .1 / math.Sqrt(h.t+10)
	for k, v := range h.lw {
		h.pi[k] = math.Exp(v) / sum
		h.p[k] = (1-eps)*h.pi[k] + eps/float64(len(h.lw))
	}
}

// observe ends the round with the steps α and β; ω are the groups' weights.
func (h *scgdByHand) observe(obs []pasto.Observation, omega []float64, alpha, beta float64) {
	u := make([][2]float64, len(h.p)) // column by column
	for q, o := range obs {
		for m, v := range o.Metrics {
			u[o.Arm][m] += omega[q] * v / h.p[o.Arm]
		}
	}
	for m := range h.y {
		mean := 0.0
		for k, p := range h.p {
			mean += u[k][m] * p
		}
		h.y[m] = (1-beta)*h.y[m] + beta*mean
	}
	dy := -2 * .5 * math.Min(0, h.y[1]-.2)
	for k := range h.lw {
		h.average[k] += (h.p[k] - h.average[k]) / h.t
		h.lw[k] += alpha * (u[k][0] + u[k][1]*dy)
	}
}

// S-SCGD is its recursion, round by round: with the steps of the cited work's basic
// method, which are the default, and with those of its accelerated one; with equal groups, one or
// more, and unequal ones.
func TestTraceSCGD(t *testing.T) {
	f, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Threshold: .2, Lambda: .5}},
		0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		options     SCGDOptions
		alpha, beta func(t float64) float64
		groups      int
		sized       bool
	}{
		{"basic", DefaultSCGDOptions(), func(t float64) float64 {
			return .5 * math.Pow(t, -.75)
		}, func(t float64) float64 { return math.Pow(t, -.5) }, 1, false},
		{"basic, groups", DefaultSCGDOptions(), func(t float64) float64 {
			return .5 * math.Pow(t, -.75)
		}, func(t float64) float64 { return math.Pow(t, -.5) }, 4, false},
		{
			"accelerated steps, sizes",
			scgdOptions(func(o *SCGDOptions) { o.Step, o.Track = Power(.1, -5.0/7), Power(1, -4.0/7) }),
			func(t float64) float64 { return .1 * math.Pow(t, -5.0/7) }, func(t float64) float64 {
				return math.Pow(t, -4.0/7)
			}, 3, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := NewSCGD(f, 3, c.options)
			if err != nil {
				t.Fatal(err)
			}
			h := &scgdByHand{
				lw: make([]float64, 3), pi: make([]float64, 3), p: make([]float64, 3),
				average: make([]float64, 3),
			}
			r := random.New(1, "scgd")
			arms, obs, omega := make([]int, c.groups), make([]pasto.Observation, c.groups), make([]float64, c.groups)
			for n := 1; n <= 50; n++ {
				h.serve()
				for k := range 3 {
					pastotest.Near(t, fmt.Sprintf("round %d: π[%d]", n, k), l.Exploit()[k], h.pi[k], 1e-10)
					pastotest.Near(t, fmt.Sprintf("round %d: p[%d]", n, k), l.Serving()[k], h.p[k], 1e-10)
				}
				if t.Failed() {
					t.FailNow()
				}
				l.Draw(r, arms)
				total := 0.0
				for q, k := range arms {
					obs[q] = pasto.Observation{
						Arm:     k,
						Metrics: []float64{float64(k)/2 + .3*r.NormFloat64(), .3 - float64(k)/2 + .3*r.NormFloat64()},
					}
					if omega[q] = 1; c.sized {
						obs[q].Size = float64(1 + r.IntN(9))
						omega[q] = obs[q].Size
					}
					total += omega[q]
				}
				for q := range omega {
					omega[q] /= total
				}
				h.observe(obs, omega, c.alpha(h.t), c.beta(h.t))
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
				for m := range h.y {
					pastotest.Near(t, fmt.Sprintf("round %d: y[%d]", n, m), l.y[m], h.y[m], 1e-10)
				}
			}
			for k, v := range h.average {
				pastotest.Near(t, "p̄", l.Deployed()[k], v, 1e-10)
			}
			if h.pi[0] < 1e-3 || h.pi[0] > .999 {
				t.Errorf("π_1 is %v at the end: the test is too weak", h.pi[0])
			}
		})
	}
}

// scgdOptions are the default options with a change.
func scgdOptions(change func(*SCGDOptions)) SCGDOptions {
	o := DefaultSCGDOptions()
	change(&o)
	return o
}

// Schedules have no defaults.
func TestSCGDWithoutSchedules(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for want, change := range map[string]func(*SCGDOptions){
		"step":        func(o *SCGDOptions) { o.Step = Schedule{} },
		"track":       func(o *SCGDOptions) { o.Track = Schedule{} },
		"exploration": func(o *SCGDOptions) { o.Exploration = Schedule{} },
	} {
		_, err := NewSCGD(f, 2, scgdOptions(change))
		pastotest.Same(t, err, want+": no schedule: make one with Constant, PaperExploration or another function")
	}
}
