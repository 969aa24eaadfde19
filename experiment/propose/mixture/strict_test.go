package mixture

import (
	"testing"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestStrict: with bounds for all rounds at alpha .1 hardly any run has a round beyond a limit,
// where two arms tempt, and arms that hold the limits still bring a gain.
func TestStrict(t *testing.T) {
	t.Parallel()
	hard := []propose.Guardrail{
		{Metric: 1, Limit: -0.05, Relative: true, Hard: true}, {Metric: 2, Down: true, Limit: 0.06, Hard: true},
	}
	w := rates(hard, []float64{0.05, 0.08, 0.075, 0.055}, []float64{0.2, 0.17, 0.2, 0.2},
		[]float64{0.05, 0.05, 0.07, 0.05})
	w.problem.Memory = propose.AllRounds
	o := DefaultOptions()
	o.Strict = 0.1
	runs, broken, gain := testsize.Of(200, 40), 0, 0.0
	for run := range runs {
		s, err := w.problem.Store()
		if err != nil {
			t.Fatal(err)
		}
		policy, err := New(w.problem, o)
		if err != nil {
			t.Fatal(err)
		}
		r, beyond := random.New(uint64(run), "strict"), false
		for range 40 {
			p, err := policy.Propose(s)
			if err != nil {
				t.Fatal(err)
			}
			check(t, p.Serving)
			var mean [3]float64
			for k, share := range p.Serving {
				for m := range mean {
					mean[m] += share * w.rates[m][k]
				}
			}
			beyond = beyond || mean[1] < 0.95*w.rates[1][0]-1e-12 || mean[2] > 0.06+1e-12
			gain += (mean[0] - w.rates[0][0]) / float64(40*runs)
			w.add(t, s, r, p.Serving, 5_000)
		}
		if beyond {
			broken++
		}
	}
	t.Logf("%d of %d runs have a round beyond a limit; a mean gain of %v", broken, runs, gain)
	if float64(broken) > 0.1*float64(runs) {
		t.Errorf("%d of %d runs have a round beyond a limit", broken, runs)
	}
	if gain < 0.003 {
		t.Errorf("a mean gain of %v", gain)
	}
}

// TestStrictRefuses: the bounds need all rounds, few arms and a caution to replace.
func TestStrictRefuses(t *testing.T) {
	w := rates(nil, []float64{0.05, 0.06})
	o := DefaultOptions()
	o.Strict = 0.05
	if _, err := New(w.problem, o); err == nil {
		t.Error("the bank of memories")
	}
	w.problem.Memory = propose.AllRounds
	if _, err := New(w.problem, o); err != nil {
		t.Error(err)
	}
	o.Caution = 0
	if _, err := New(w.problem, o); err == nil {
		t.Error("no caution")
	}
	o = DefaultOptions()
	o.Strict = 0.05
	many := *w.problem
	many.Arms = make([]propose.Arm, definition.MostStrict+1)
	if _, err := New(&many, o); err == nil {
		t.Error("many arms")
	}
}

// TestMemory: a policy of a fixed memory follows a change, and refuses a store without that memory.
func TestMemory(t *testing.T) {
	shares := func(memory int) []float64 {
		w := rates(nil, []float64{0.05, 0.09, 0.05})
		w.problem.Memory = memory
		s, policy, _ := w.play(t, 60, 2_000, 1)
		w.rates[0][1], w.rates[0][2] = 0.05, 0.09
		r := random.New(2, "memory")
		var p *propose.Proposal
		for range 20 {
			var err error
			if p, err = policy.Propose(s); err != nil {
				t.Fatal(err)
			}
			w.add(t, s, r, p.Serving, 2_000)
		}
		return p.Serving
	}
	if short, long := shares(10), shares(propose.AllRounds); !(short[2] > 0.5) || !(long[1] > 0.5) {
		t.Errorf("a memory of 10 rounds serves %v, all rounds %v", short, long)
	}
	w := rates(nil, []float64{0.05, 0.09})
	s, err := w.problem.Store()
	if err != nil {
		t.Fatal(err)
	}
	w.problem.Memory = 10
	policy, err := New(w.problem, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Propose(s); err == nil {
		t.Error("a store without the memory")
	}
	w.problem.Memory = compare.LeastFixed - 1
	if w.problem.Validate() == nil {
		t.Error("a memory of 4 rounds")
	}
}

// TestNoControl: without a control all arms begin alike, the best is served soon, an arm beyond a
// hard guardrail is not deployed, retired and capped arms get what they may, also the one that the
// others are compared with.
func TestNoControl(t *testing.T) {
	hard := []propose.Guardrail{{Metric: 1, Limit: 0.15, Hard: true}}
	w := rates(hard, []float64{0.05, 0.06, 0.09, 0.12}, []float64{0.2, 0.2, 0.2, 0.1})
	w.problem.NoControl = true
	s, err := w.problem.Store()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := New(w.problem, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range p.Serving {
		if share != 0.25 {
			t.Fatalf("at first %v", p.Serving)
		}
	}
	s, policy, _ = w.play(t, 40, 5_000, 1)
	if p, err = policy.Propose(s); err != nil {
		t.Fatal(err)
	}
	// The best mixture has half of arm 3 and half of arm 2.
	if p.Deployed[0]+p.Deployed[1] > 0.01 || p.Deployed[3] > 0.5 || p.Deployed[3] < 0.2 || p.Serving[2] < 0.3 {
		t.Errorf("deployed %v, served %v", p.Deployed, p.Serving)
	}
	w.problem.Arms[0].Retired, w.problem.Arms[2].Most = true, 0.4
	if policy, err = New(w.problem, DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if p, err = policy.Propose(s); err != nil {
			t.Fatal(err)
		}
		check(t, p.Serving)
		if p.Serving[0] != 0 || p.Deployed[0] != 0 || p.Serving[2] > 0.4+1e-9 || p.Deployed[2] > 0.4+1e-9 {
			t.Fatalf("retired and capped: served %v, deployed %v", p.Serving, p.Deployed)
		}
		w.add(t, s, nil, p.Serving, 5_000)
	}
	// A limit that no arm holds: what breaks it least is deployed.
	w.problem.Guardrails[0].Limit = 0.5
	if policy, err = New(w.problem, DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	if p, err = policy.Propose(s); err != nil {
		t.Fatal(err)
	}
	check(t, p.Deployed)
	if p.Deployed[3] > 0.01 {
		t.Errorf("beyond reach %v", p.Deployed)
	}
}

// TestHoldDeployed: a guardrail that is to hold in what is deployed only does not keep arms from
// being tried.
func TestHoldDeployed(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Limit: -0.02, Relative: true, Hard: true}},
		[]float64{0.05, 0.07, 0.06}, []float64{0.2, 0.15, 0.21})
	w.problem.HoldDeployed, w.problem.Control = true, 0.1
	s, policy, _ := w.play(t, 1, 5_000, 1)
	p, err := policy.Propose(s)
	if err != nil {
		t.Fatal(err)
	}
	if tried := p.Serving[1] + p.Serving[2]; tried < 0.2 || p.Serving[0] < 0.1 {
		t.Errorf("served %v", p.Serving)
	}
	s, policy, _ = w.play(t, 30, 5_000, 1)
	if p, err = policy.Propose(s); err != nil {
		t.Fatal(err)
	}
	if p.Deployed[2] < 0.4 || p.Deployed[1] > 0.3 {
		t.Errorf("deployed %v", p.Deployed)
	}
}
