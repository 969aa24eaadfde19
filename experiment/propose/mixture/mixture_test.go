package mixture

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// world is a problem of rates with the truth about it.
type world struct {
	problem *propose.Problem
	rates   [][]float64 // by metric and arm
}

// rates returns a world with a goal, metric 0, and hard guardrails on the others.
func rates(guardrails []propose.Guardrail, rows ...[]float64) world {
	w := world{problem: &propose.Problem{
		Arms: make([]propose.Arm, len(rows[0])), Metrics: make([]propose.Metric, len(rows)),
		Goals: []propose.Goal{{Metric: 0, Weight: 1}}, Guardrails: guardrails,
	}, rates: rows}
	for k := range w.problem.Arms {
		w.problem.Arms[k].Most = 1
	}
	for i := range w.problem.Metrics {
		w.problem.Metrics[i].Upper = 1
	}
	return w
}

// add adds a round of units shared out by p to the store.
func (w *world) add(t testing.TB, s *compare.Store, r *random.Source, p []float64, units float64) {
	t.Helper()
	for m := range w.rates {
		var round []compare.Sums
		for k, share := range p {
			n := math.Round(share * units)
			if n < 1 {
				continue
			}
			q := w.rates[m][k]
			mean := q
			if r != nil {
				mean = float64(stat.Binomial(r, int64(n), q)) / n
			}
			round = append(round, compare.Sums{Arm: k, N: n, X: mean, XX: n * mean * (1 - mean)})
		}
		if err := s.Add(m, round); err != nil {
			t.Fatal(err)
		}
	}
}

// play serves rounds by the default policy, and returns the store, the policy and the sum of what
// the goal has gained over the control's.
func (w *world) play(t testing.TB, rounds int, units float64, seed uint64) (*compare.Store, *Policy, float64) {
	t.Helper()
	s, err := w.problem.Store()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := New(w.problem, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, gain := random.New(seed, "play"), 0.0
	for range rounds {
		p, err := policy.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		check(t, p.Serving)
		check(t, p.Deployed)
		for k, share := range p.Serving {
			gain += share * (w.rates[0][k] - w.rates[0][0])
		}
		w.add(t, s, r, p.Serving, units)
	}
	return s, policy, gain
}

func check(t testing.TB, p []float64) {
	t.Helper()
	sum := 0.0
	for _, v := range p {
		if !(v >= 0) {
			t.Fatalf("shares %v", p)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Fatalf("shares %v sum to %v", p, sum)
	}
}

// TestTwoSpellings: a limit as a change and the same one as a number serve within 10 % of each
// other after 30 rounds.
func TestTwoSpellings(t *testing.T) {
	rows := [][]float64{{0.05, 0.056, 0.052, 0.047}, {0.02, 0.0193, 0.0205, 0.021}}
	relative := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Hard: true}}, rows...)
	absolute := rates([]propose.Guardrail{{Metric: 1, Limit: 0.019, Hard: true}}, rows...)
	var a, b float64
	for seed := range uint64(20) {
		gained := func(w *world) float64 {
			_, _, early := w.play(t, 30, 20_000, seed)
			_, _, all := w.play(t, 45, 20_000, seed)
			return all - early
		}
		a += gained(&relative)
		b += gained(&absolute)
	}
	if !(a > 0) || math.Abs(a-b) > 0.1*a {
		t.Errorf("the change gains %v, the number %v", a, b)
	}
}

// TestMixtureOfEqualArms: the variance of a mixture of two equal arms that are known apart from a
// control with many units is half of one arm's.
func TestMixtureOfEqualArms(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Hard: true}},
		[]float64{0.05, 0.05, 0.05}, []float64{0.02, 0.02, 0.02})
	s, err := w.problem.Store()
	if err != nil {
		t.Fatal(err)
	}
	w.add(t, s, nil, []float64{1 - 2e-4, 1e-4, 1e-4}, 1e8)
	var g guard
	g.read(s, w.problem, 0)
	product := make([]float64, 3)
	one, two := g.spread([]float64{0, 1, 0}, product), g.spread([]float64{0, 0.5, 0.5}, product)
	if math.Abs(two*two/(one*one)-0.5) > 1e-3 {
		t.Errorf("variances %v and %v", two*two, one*one)
	}
}

// TestCone compares the program with a fine grid over mixtures of three arms. Four programs come
// close; more of them end at the optimum.
func TestCone(t *testing.T) {
	r := random.New(1, "cone")
	for range 20 {
		w := rates([]propose.Guardrail{
			{Metric: 1, Limit: -0.05, Relative: true, Hard: true}, {Metric: 2, Down: true, Limit: 0.031, Hard: true},
		}, []float64{0.05, 0.05 + 0.01*r.Float64(), 0.05 + 0.01*r.Float64()},
			[]float64{0.02, 0.019 + 0.002*r.Float64(), 0.018 + 0.003*r.Float64()},
			[]float64{0.03, 0.029 + 0.003*r.Float64(), 0.029 + 0.003*r.Float64()})
		s, err := w.problem.Store()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.add(t, s, nil, []float64{0.5, 0.2, 0.3}, 40_000)
		}
		m, err := New(w.problem, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		m.estimate(s)
		holds := func(p []float64) bool {
			rho, _, _ := m.stepOf(p, 2)
			return rho == 1
		}
		value := func(p []float64) float64 {
			v, err := m.reward(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		const steps = 400
		best := value([]float64{1, 0, 0})
		for i := range steps + 1 {
			for j := range steps + 1 - i {
				p := []float64{float64(steps-i-j) / steps, float64(i) / steps, float64(j) / steps}
				if v := value(p); v > best && holds(p) {
					best = v
				}
			}
		}
		if err := m.solve(nil, 2, 0); err != nil {
			t.Fatal(err)
		}
		if rho, _, _ := m.stepOf(m.optimum, 2); rho < 1-1e-9 {
			t.Errorf("%v breaks a guardrail", m.optimum)
		}
		if got := value(m.optimum); got < best-0.02*(best-0.05)-1e-9 {
			t.Errorf("four programs reach %v of %v", got-0.05, best-0.05)
		}
		m.limit = 60
		if err := m.solve(nil, 2, 0); err != nil {
			t.Fatal(err)
		}
		if got := value(m.optimum); got < best-1e-9 || got > m.bound+1e-9 || m.bound-got > 1e-9 {
			t.Errorf("value %v within %v, by the grid %v", got, m.bound, best)
		}
	}
}

// TestDown: goals and guardrails that are to be minimized, and limits above.
func TestDown(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Down: true, Limit: 0.05, Relative: true, Hard: true}},
		[]float64{0.05, 0.04, 0.06, 0.03}, []float64{0.02, 0.0195, 0.019, 0.03})
	w.problem.Goals[0].Down = true
	s, policy, gain := w.play(t, 60, 50_000, 1)
	p, err := policy.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	if gain >= 0 || p.Deployed[1] < 0.7 || p.Deployed[2] > 0.01 {
		t.Errorf("gain %v, deployed %v", gain, p.Deployed)
	}
	if g := p.Guardrails[0]; !g.Known || !(g.Slack > 0) || !(g.Error > 0) {
		t.Errorf("the guardrail stands at %+v", g)
	}
}

// TestRatio: a limit on a ratio, relative or absolute, and a goal that is one.
func TestRatio(t *testing.T) {
	for _, x := range []propose.Guardrail{
		{Metric: 1, Limit: -0.05, Relative: true, Hard: true}, {Metric: 1, Limit: 0.475, Hard: true},
	} {
		problem := &propose.Problem{
			Arms: []propose.Arm{{}, {Most: 1}, {Most: 1}}, Metrics: []propose.Metric{{Ratio: true}, {Ratio: true}},
			Goals: []propose.Goal{{Metric: 0, Weight: 1}}, Guardrails: []propose.Guardrail{x},
		}
		s, err := problem.Store()
		if err != nil {
			t.Fatal(err)
		}
		// Arm 1 raises both parts of the guardrail, arm 2 lowers the ratio by 20 %.
		parts := [][3][2]float64{{{1, 2}, {1.3, 2}, {1.4, 2}}, {{1, 2}, {2, 4}, {0.8, 2}}}
		for range 20 {
			for m := range parts {
				var round []compare.Sums
				for k, y := range parts[m] {
					round = append(round, compare.Sums{Arm: k, N: 2000, X: y[0], Y: y[1], XX: 500, YY: 500, XY: 100})
				}
				if err := s.Add(m, round); err != nil {
					t.Fatal(err)
				}
			}
		}
		policy, err := New(problem, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		// x(p)/y(p) of the best mixture of arms 1 and 2 is 5 % below one half.
		q := p.Deployed
		ratio := (q[0] + 2*q[1] + 0.8*q[2]) / (2*q[0] + 4*q[1] + 2*q[2])
		if !(ratio >= 0.475) || ratio > 0.482 || q[2] < 0.2 {
			t.Errorf("deployed %v with a ratio of %v", q, ratio)
		}
	}
}

// TestSoft: a soft guardrail that all arms hold costs nothing, however rare it is, and one that is
// broken costs its price.
func TestSoft(t *testing.T) {
	for price, want := range map[float64]float64{1e-9: 1, 1e3: 0.1} {
		w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Price: price}},
			[]float64{0.05, 0.06}, []float64{0.02, 0.012})
		s, policy, _ := w.play(t, 20, 50_000, 1)
		p, err := policy.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Deployed[1]-want) > 0.06 {
			t.Errorf("price %v: deployed %v, want %v of arm 1", price, p.Deployed, want)
		}
	}
	w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Price: 100}},
		[]float64{0.05, 0.06}, []float64{0.003, 0.0031})
	s, policy, _ := w.play(t, 10, 20_000, 1)
	if p, err := policy.Propose(s); err != nil || p.Deployed[1] < 0.9 {
		t.Errorf("deployed %v, %v", p.Deployed, err)
	}
}

// TestBounds: caps, the control's least share, floors and retired arms.
func TestBounds(t *testing.T) {
	w := rates(nil, []float64{0.05, 0.08, 0.07, 0.2})
	w.problem.Arms[1].Most, w.problem.Arms[3].Retired, w.problem.Control = 0.3, true, 0.1
	s, policy, _ := w.play(t, 20, 50_000, 1)
	p, err := policy.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{p.Serving, p.Deployed} {
		if x[0] < 0.1-1e-9 || x[1] > 0.3+1e-9 || x[3] != 0 {
			t.Errorf("shares %v", x)
		}
	}
	if p.Deployed[1] < 0.26 || p.Deployed[2] < 0.6 {
		t.Errorf("deployed %v", p.Deployed)
	}
	w.problem.Floor = 0.3
	if p, err = policy.Propose(s); err != nil || p.Serving[2] < 0.09 || p.Serving[0] < 0.1 {
		t.Errorf("serving %v, %v", p.Serving, err)
	}
}

// TestUnknownArm: an arm without data gets what the worst of its range leaves, and without a range
// the share of probes.
func TestUnknownArm(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Down: true, Limit: 0.0055, Hard: true}},
		[]float64{0.05, 0.05}, []float64{0.005, 0.3})
	s, policy, _ := w.play(t, 1, 1000, 1)
	w.add(t, s, nil, []float64{1, 0}, 1e6)
	p, err := policy.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Serving[1] > 0.0005/0.99 || p.Serving[1] == 0 || len(p.Unknown) != 1 {
		t.Errorf("serving %v, unknown %v", p.Serving, p.Unknown)
	}
	w.problem.Metrics[1].Upper = 0
	if p, err = policy.Propose(s); err != nil || math.Abs(p.Serving[1]-0.02) > 1e-9 {
		t.Errorf("serving %v, %v", p.Serving, err)
	}
}

// TestCharge: the noise of a control's level takes little of a slack of many standard errors, and
// all of one that may be noise.
func TestCharge(t *testing.T) {
	for _, x := range []struct{ slack, units, errors, want float64 }{
		{1, 0.1, 1, 0.99}, {1, 0.5, 1, 0.75}, {1, 2, 1, 0}, {1, 0, 5, 1}, {0, 1, 1, 0},
	} {
		g := guard{estimated: x.slack, units: x.units}
		if g.charge(x.errors, true); math.Abs(g.own-x.want) > 1e-12 {
			t.Errorf("%+v: %v", x, g.own)
		}
	}
}

// TestWatch: the control keeps a tenth while recent rounds do not show that the guardrail holds,
// and gives it up where they do.
func TestWatch(t *testing.T) {
	for _, x := range []struct {
		rate    float64
		watched bool
	}{{0.0196, true}, {0.026, false}} {
		w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Hard: true}},
			[]float64{0.05, 0.07}, []float64{0.02, x.rate})
		s, policy, _ := w.play(t, 60, 20_000, 1)
		p, err := policy.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Serving[0] >= watched-1e-12; got != x.watched {
			t.Errorf("with a rate of %v the control has %v", x.rate, p.Serving[0])
		}
	}
}

// TestCrash: an arm that loses half of its guardrail's rate has at most a tenth of that within some
// rounds, and does not come back.
func TestCrash(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Hard: true}},
		[]float64{0.05, 0.07, 0.052}, []float64{0.02, 0.0202, 0.0203})
	s, policy, _ := w.play(t, 60, 20_000, 1)
	w.rates[1][1] = 0.01
	r, broken := random.New(2, "crash"), 0
	for round := range 100 {
		p, err := policy.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 && p.Serving[1] < 0.5 {
			t.Fatalf("serving %v before the crash", p.Serving)
		}
		if float64(p.Serving[1]*0.5)-float64(p.Serving[2]*0.015) > 0.055 {
			broken++
		}
		w.add(t, s, r, p.Serving, 20_000)
	}
	if broken > 10 {
		t.Errorf("%d rounds beyond the limit by more than .5 %%", broken)
	}
}

// TestErrorsOfManyArms: the best of many arms is deployed by more standard errors.
func TestErrorsOfManyArms(t *testing.T) {
	for arms, want := range map[int]float64{
		2: 2, 10: 2, 20: math.Sqrt(4 + math.Ln2), 1000: math.Sqrt(4 + math.Log(100)),
	} {
		m := Policy{options: DefaultOptions(), problem: &propose.Problem{Arms: make([]propose.Arm, arms+5)}}
		for k := range 5 {
			m.problem.Arms[k].Retired = true
		}
		if got := m.deployedErrors(); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d arms: %v, want %v", arms, got, want)
		}
	}
}

// TestPure: a proposal depends on the store alone, not on what the policy proposed before.
func TestPure(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Hard: true}},
		[]float64{0.05, 0.06, 0.055}, []float64{0.02, 0.0195, 0.0203})
	s, used, _ := w.play(t, 25, 20_000, 3)
	b := s.AppendBinary(nil)
	fresh, err := New(w.problem, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	p, err := used.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	var read compare.Store
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	q, err := fresh.Propose(&read)
	if err != nil {
		t.Fatal(err)
	}
	for k := range p.Serving {
		if p.Serving[k] != q.Serving[k] || p.Deployed[k] != q.Deployed[k] {
			t.Fatalf("%v and %v, deployed %v and %v", p.Serving, q.Serving, p.Deployed, q.Deployed)
		}
	}
	if string(s.AppendBinary(nil)) != string(b) {
		t.Error("a proposal has changed the store")
	}
}

// TestRefuses: bad problems and options are errors.
func TestRefuses(t *testing.T) {
	good := rates(nil, []float64{0.05, 0.06}).problem
	for name, change := range map[string]func(p *propose.Problem, o *Options){
		"no arm":         func(p *propose.Problem, _ *Options) { p.Arms = nil },
		"no goal":        func(p *propose.Problem, _ *Options) { p.Goals = nil },
		"no such metric": func(p *propose.Problem, _ *Options) { p.Goals = []propose.Goal{{Metric: 1, Weight: 1}} },
		"no weight":      func(p *propose.Problem, _ *Options) { p.Goals = []propose.Goal{{}} },
		"soft, no price": func(p *propose.Problem, _ *Options) { p.Guardrails = []propose.Guardrail{{}} },
		"control":        func(p *propose.Problem, _ *Options) { p.Control = 2 },
		"caution":        func(_ *propose.Problem, o *Options) { o.Caution = math.NaN() },
		"probe":          func(_ *propose.Problem, o *Options) { o.Probe = 2 },
	} {
		p, o := *good, DefaultOptions()
		change(&p, &o)
		if _, err := New(&p, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	policy, err := New(good, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	other, err := compare.New(3, []compare.Metric{{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Propose(other); err == nil {
		t.Error("a store of another problem: no error")
	}
}

func BenchmarkPropose(b *testing.B) {
	for _, x := range []struct {
		name          string
		arms, metrics int
	}{{"12x6", 12, 6}, {"100x6", 100, 6}, {"1000x6", 1000, 6}} {
		b.Run(x.name, func(b *testing.B) {
			r := random.New(1, "bench")
			rows := make([][]float64, x.metrics)
			var guardrails []propose.Guardrail
			for m := range rows {
				rows[m] = make([]float64, x.arms)
				rows[m][0] = 0.03
				for k := 1; k < x.arms; k++ {
					rows[m][k] = 0.03 * (1 + 0.1*stat.Normal(r))
				}
				if m > 0 {
					guardrails = append(guardrails, propose.Guardrail{
						Metric: m, Limit: -0.05, Relative: true, Hard: true,
					})
				}
			}
			w := rates(guardrails, rows...)
			s, policy, _ := w.play(b, 60, 200_000, 1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := policy.Propose(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestConstantMetric checks that a guardrail whose metric has had one value only, as crashes that
// nobody has seen, leaves the arms as much room as units without a crash show.
func TestConstantMetric(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Down: true, Limit: 0.01, Hard: true}},
		[]float64{0.05, 0.1, 0.05}, []float64{0, 0, 0})
	_, policy, _ := w.play(t, 30, 5000, 1)
	if share := policy.serving[1]; share < 0.5 {
		t.Errorf("the better arm gets %v after 30 rounds without a crash: %v", share, policy.serving)
	}
}

// TestProbeLeavesOthersAlone checks that an arm about which nothing is known, where a hard
// guardrail has no range, gets a small share and takes nothing from the arms that are known.
func TestProbeLeavesOthersAlone(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Down: true, Limit: 0.2, Relative: true, Hard: true}},
		[]float64{0.05, 0.1, 0.05}, []float64{0.3, 0.3, 0.3})
	w.problem.Metrics[1].Upper = 0
	s, before, _ := w.play(t, 30, 20_000, 1)
	p := *w.problem
	p.Arms = append(append([]propose.Arm(nil), p.Arms...), propose.Arm{Most: 1})
	s.AddArm()
	policy, err := New(&p, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	got, err := policy.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	was, is, probe := before.serving[1], got.Serving[1], got.Serving[3]
	if is < was-0.1 || !(probe > 0 && probe <= 0.02+1e-12) {
		t.Errorf("the best arm had %v and has %v, the new one %v", was, is, probe)
	}
}

// TestLateArmGrows checks that an arm which joins after two hundred rounds and is the best has most
// of the units twenty rounds later.
func TestLateArmGrows(t *testing.T) {
	w := rates(nil, []float64{0.05, 0.055, 0.05}, []float64{0.3, 0.3, 0.3})
	s, _, _ := w.play(t, 200, 20_000, 1)
	p := *w.problem
	p.Arms = append(append([]propose.Arm(nil), p.Arms...), propose.Arm{Most: 1})
	s.AddArm()
	v := rates(nil, []float64{0.05, 0.055, 0.05, 0.1}, []float64{0.3, 0.3, 0.3, 0.3})
	policy, err := New(&p, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(2, "late")
	for range 20 {
		got, err := policy.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		v.add(t, s, r, got.Serving, 20_000)
	}
	if share := policy.serving[3]; share < 0.7 {
		t.Errorf("the late arm has %v: %v", share, policy.serving)
	}
}

// TestRelativeLimit: the slack of an arm beside a relative limit is what it has more than the limit
// at the control's mean, also where that is negative.
func TestRelativeLimit(t *testing.T) {
	for _, down := range []bool{false, true} {
		for _, change := range []float64{-0.3, -0.05, 0, 0.1, 1.5} {
			for _, control := range []float64{-100, -1, 2, 50} {
				for _, y := range []float64{-105, -94, -1.04, 0, 1.9, 53} {
					w := rates([]propose.Guardrail{{Metric: 0, Limit: change, Relative: true, Down: down, Hard: true}},
						[]float64{0, 0})
					s, err := w.problem.Store()
					if err != nil {
						t.Fatal(err)
					}
					round := []compare.Sums{{Arm: 0, N: 100, X: control, XX: 1}, {Arm: 1, N: 100, X: y, XX: 1}}
					if err := s.Add(0, round); err != nil {
						t.Fatal(err)
					}
					g := guard{free: true} // the slack is not cut at 0
					g.read(s, w.problem, 0)
					want := y - (control + change*math.Abs(control))
					if down {
						want = -want
					}
					if got := g.own + g.gain[1]; math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
						t.Errorf("change %v, down %v, control %v, value %v: %v, want %v", change, down, control, y, got,
							want)
					}
				}
			}
		}
	}
}
