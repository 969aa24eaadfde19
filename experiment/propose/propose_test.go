package propose

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment/compare"
)

func valid() *Problem {
	return &Problem{
		Arms: []Arm{{Most: 1}, {Most: 0.5}}, Metrics: []Metric{{Name: "clicks", Upper: 1}, {Name: "rate", Ratio: true}},
		Goals: []Goal{{Metric: 0, Weight: 1}}, Guardrails: []Guardrail{{Metric: 1, Limit: 0.1, Hard: true}},
	}
}

// TestValidate: each fault of a problem is an error, and a problem without one is not.
func TestValidate(t *testing.T) {
	if err := valid().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]func(p *Problem){
		"no arm":         func(p *Problem) { p.Arms = nil },
		"share":          func(p *Problem) { p.Arms[1].Most = 1.5 },
		"retired":        func(p *Problem) { p.Arms[0].Retired = true },
		"control":        func(p *Problem) { p.Control = -0.1 },
		"floor":          func(p *Problem) { p.Floor = math.NaN() },
		"soft":           func(p *Problem) { p.Soft = math.Inf(1) },
		"range":          func(p *Problem) { p.Metrics[0].Lower = 2 },
		"no goals":       func(p *Problem) { p.Goals = nil },
		"goal's metric":  func(p *Problem) { p.Goals[0].Metric = 2 },
		"weight":         func(p *Problem) { p.Goals[0].Weight = -1 },
		"limit":          func(p *Problem) { p.Guardrails[0].Limit = math.NaN() },
		"limit's metric": func(p *Problem) { p.Guardrails[0].Metric = -1 },
		"price":          func(p *Problem) { p.Guardrails[0].Hard = false },
	} {
		p := valid()
		fault(p)
		if p.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStore: the store of a problem is one of it, and others are refused.
func TestStore(t *testing.T) {
	p := valid()
	s, err := p.Store()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(s); err != nil {
		t.Error(err)
	}
	s.AddArm()
	if p.Check(s) == nil {
		t.Error("a store of three arms: no error")
	}
	if s, err = compare.New(2, []compare.Metric{{}}); err != nil || p.Check(s) == nil {
		t.Errorf("a store of one metric: no error, %v", err)
	}
}
