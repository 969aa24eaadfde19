package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
)

const previewed = `name: x
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
control: {arm: a, share: 0.25}
metrics: [{name: m, range: [0, 1]}, {name: n, range: [0, 1]}, {name: o, range: [0, 1]}]
objective: {goals: [{metric: m}]}
guardrails: [{metric: n, min: 0.1, hard: false}]
ramp: [{share: 0.1, units: 100000}, {share: 0.5, units: 100000}]
round: {length: 1m, min_units: 1}
attribution_window: 1m
`

// preview returns the preview of a definition, and applies it then: the version, the shares and the
// definition must be what the preview said, and before that nothing may have changed.
func (s *scenario) preview(text string) (*api.Applied, int) {
	s.t.Helper()
	d, err := definition.Parse("x", []byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	before, err := s.state.MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := s.state.Preview(d, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	if after, err := s.state.MarshalBinary(); err != nil || !slices.Equal(before, after) {
		s.t.Fatalf("a preview changes the state: %v", err)
	}
	built := 0
	makeLearner = func(r *roster, store *compare.Store) (learner, error) {
		built++
		return newLearner(r, store)
	}
	defer func() { makeLearner = newLearner }()
	s.run("apply\n" + text)
	q := s.state.Policy(d.Name)
	if q.Version != p.Preview.Next || p.Changed != (p.Preview.Next != p.Version) {
		s.t.Errorf("version %d, the preview said %+v", q.Version, p)
	}
	if !sameJSON(s.state.Definition(d.Name), d) {
		s.t.Errorf("another definition")
	}
	for _, c := range p.Preview.Shares {
		x := s.state.live[d.Name]
		k := slices.IndexFunc(x.roster.Arms, func(a armState) bool { return a.Name == c.Arm })
		if got := x.rounds.served(len(x.roster.Arms)).Shares()[k]; math.Abs(got-c.After) > 1e-15 {
			s.t.Errorf("arm %s has the share %v, the preview said %v", c.Arm, got, c.After)
		}
	}
	return p, built
}

// TestPreview previews changes one after the other, of an experiment whose learner's sums outlive a
// change of what is wanted.
func TestPreview(t *testing.T) {
	s := newScenario(t)
	text := previewed
	p, _ := s.preview(text)
	if !p.Created || p.Version != 0 || p.Preview.Next != 1 || len(p.Preview.Changes) < 10 ||
		len(p.Preview.Shares) != 3 || p.Preview.Evidence[0] != "the experiment begins without evidence" {
		t.Errorf("created: %+v", p)
	}
	s.run("simulate 0 300 0 m=a:0.4,b:0.5,c:0.6 n=a:0.5,b:0.5,c:0.5")
	for range 3 {
		s.run("wait 65s")
		s.run("due")
	}
	if n := len(s.state.live["x"].learning.Recent); n == 0 {
		t.Fatal("nothing was learned")
	}
	for _, step := range []struct {
		old, new string
		paths    string
		evidence []string
		// learners is the number that the change makes: one, to try it on a copy.
		learners int
	}{
		{"name: x", "name: x", "", nil, 0},
		{"name: x", "name: x\ndescription: d", "description", []string{"kept: the counts", "kept: the learner"}, 1},
		{
			"share: 0.25", "share: 0.3", "control.share",
			[]string{"kept: the counts", "kept: the learner and what it has learned"},
			1,
		},
		{
			"{name: c, value: 3}", "{name: d, value: 4}", "arms.d arms.c",
			[]string{"kept: the counts", "retired: arm c", "new: arm d", "kept: the learner"},
			1,
		},
		{
			"min: 0.1", "min_change: -0.1", "guardrails.n.min_change guardrails.n.min",
			[]string{
				"kept: the counts", "kept: the learner and what it has learned", "anew: the states of the guardrails",
			},
			1,
		},
		{
			"ramp: [{share: 0.1, units: 100000}, ", "ramp: [", "ramp",
			[]string{"kept: the counts", "kept: the learner", "anew: the ramp, in stage 1 of 1"},
			1,
		},
		{
			"goals: [{metric: m}]", "goals: [{metric: m}, {metric: n, weight: 2}]", "objective.goals.n",
			[]string{"kept: the counts", "kept: the learner and what it has learned"},
			1,
		},
		{
			"guardrails: [{metric: n, min_change: -0.1, hard: false}]\n", "", "guardrails",
			[]string{
				"kept: the counts", "kept: the learner and what it has learned", "anew: the states of the guardrails",
			},
			1,
		},
		{
			"{metric: n, weight: 2}]", "{metric: n, weight: 2}, {metric: o}]", "objective.goals.o",
			[]string{"kept: the counts", "kept: the learner and what it has learned", "anew: the comparison of o"},
			1,
		},
	} {
		changed := strings.Replace(text, step.old, step.new, 1)
		if changed == text && step.old != step.new {
			t.Fatalf("%q is not in the definition", step.old)
		}
		text = changed
		p, learners := s.preview(text)
		var paths []string
		for _, c := range p.Preview.Changes {
			paths = append(paths, c.Path)
		}
		if strings.Join(paths, " ") != step.paths || p.Created || p.Changed != (step.paths != "") {
			t.Errorf("%s: changes %q, %+v", step.new, paths, p)
		}
		if len(p.Preview.Evidence) != len(step.evidence) {
			t.Errorf("%s: evidence %q, want %q", step.new, p.Preview.Evidence, step.evidence)
			continue
		}
		for i, want := range step.evidence {
			if !strings.HasPrefix(p.Preview.Evidence[i], want) {
				t.Errorf("%s: evidence %q, want %q", step.new, p.Preview.Evidence[i], want)
			}
		}
		if learners != step.learners {
			t.Errorf("%s: made %d learners, want %d", step.new, learners, step.learners)
		}
	}
	s.checkEvery()
}

// TestPreviewRefuses returns the errors of the change itself.
func TestPreviewRefuses(t *testing.T) {
	s := newScenario(t)
	s.run("apply\n" + previewed)
	for _, text := range []string{
		strings.Replace(previewed, "name: x", "name: x\nunit: visit", 1),
		strings.Replace(previewed, "{name: b, value: 2}", "{name: b, value: 7}", 1),
	} {
		d, err := definition.Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := s.state.Preview(d, s.now); err == nil {
			t.Errorf("%+v", p)
		}
	}
}
