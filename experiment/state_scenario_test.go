package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/private/aggregate"
)

// TestScenarios runs the scripts of testdata/scenario in the format of package datadriven: a
// command, a line of dashes, the output. Afterwards it folds the events again, also continuing from
// a snapshot before every event. Run with -rewrite to replace the expected output.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files := 0
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		files++
		s := newScenario(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			line := []string{d.Cmd}
			for _, arg := range d.CmdArgs {
				line = append(line, arg.String())
			}
			return s.run(strings.Join(line, " ") + "\n" + d.Input)
		})
		s.check()
	})
	if files < 5 {
		t.Fatalf("%d scenarios", files)
	}
}

// scenario is a state with the events that led to it.
type scenario struct {
	t      tester
	state  *State
	events []Event
	now    int64
	name   string
	tokens map[string]policy.Token
	// sums are those of the private experiments that were opened, by name.
	sums map[string]*aggregate.Sums
	// refusals makes apply check that a refused event changes nothing.
	refusals bool
}

// tester is the part of testing.T and rapid.T that a scenario needs.
type tester interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func newScenario(t tester) *scenario {
	return &scenario{
		t: t, state: NewState(), tokens: map[string]policy.Token{}, sums: map[string]*aggregate.Sums{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
	}
}

func (s *scenario) apply(e Event) Outcome {
	s.t.Helper()
	var before []byte
	var err error
	if s.refusals {
		if before, err = s.state.MarshalBinary(); err != nil {
			s.t.Fatal(err)
		}
	}
	logged, o, err := s.state.Step(e)
	s.events = append(s.events, logged...)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.refusals && o.Err != nil {
		s.refused(before, e, o)
	}
	return o
}

// refused fails the test unless the refused event left the state that an unreadable event, or one
// that only advances the clock, would have left.
func (s *scenario) refused(before []byte, e Event, o Outcome) {
	s.t.Helper()
	got, err := s.state.Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	clock, err := NewEvent(KindClock, e.Time, NameEvent{Experiment: o.Experiment})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, other := range []Event{{Kind: "nonsense", Time: e.Time}, clock} {
		var again State
		if err := again.UnmarshalBinary(before); err != nil {
			s.t.Fatal(err)
		}
		if _, err := again.Apply(uint64(len(s.events)), other); err != nil {
			s.t.Fatal(err)
		}
		if d, err := again.Digest(); err != nil {
			s.t.Fatal(err)
		} else if d == got {
			return
		}
	}
	s.t.Errorf("%s was refused (%v) but changed the state", e.Kind, o.Err)
}

func (s *scenario) event(kind string, payload any) Outcome {
	s.t.Helper()
	e, err := NewEvent(kind, s.now, payload)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.apply(e)
}

// noted is the number of an experiment's notes that contain a text.
func (s *scenario) noted(name, text string) (n int) {
	s.t.Helper()
	r, err := s.state.Report(name)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, note := range r.Notes {
		if strings.Contains(note.Text, text) {
			n++
		}
	}
	return n
}

// check folds the events again with some snapshots in between, checkEvery with one before each
// event.
func (s *scenario) check()      { s.t.Helper(); s.refold(max(1, len(s.events)/testsize.Of(7, 3))) }
func (s *scenario) checkEvery() { s.t.Helper(); s.refold(1) }

func (s *scenario) refold(step int) {
	s.t.Helper()
	want, err := s.state.Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	wantBytes, err := s.state.MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	again := NewState()
	var frozen *Frozen
	var frozenBytes []byte
	for i, e := range s.events {
		if i%step == 0 {
			b, err := again.MarshalBinary()
			if err != nil {
				s.t.Fatal(err)
			}
			if frozen != nil { // later events must not have changed it
				if f, err := frozen.MarshalBinary(); err != nil || !bytes.Equal(f, frozenBytes) {
					s.t.Fatalf("event %d: a frozen state changed: %v", i, err)
				}
			}
			if frozen, err = again.Freeze(); err != nil {
				s.t.Fatal(err)
			}
			frozenBytes = b
			var next State
			if err := next.UnmarshalBinary(b); err != nil {
				s.t.Fatal(err)
			}
			b2, err := next.MarshalBinary()
			if err != nil || !bytes.Equal(b, b2) {
				s.t.Fatalf("event %d: the state changed in a snapshot: %v", i, err)
			}
			if step == 1 || i%2 == 0 {
				again = &next
			}
		}
		logged := Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload} // without what Plan adds
		if _, err := again.Apply(uint64(i+1), logged); err != nil {
			s.t.Fatal(err)
		}
	}
	got, err := again.Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	gotBytes, err := again.MarshalBinary()
	if err != nil || got != want || !bytes.Equal(gotBytes, wantBytes) {
		s.t.Errorf("a second fold differs: %s and %s, %v", got, want, err)
	}
}

func (s *scenario) run(command string) string {
	line, body, _ := strings.Cut(command, "\n")
	words := strings.Fields(line)
	var b strings.Builder
	show := func(o Outcome) {
		for i, it := range o.Items {
			fmt.Fprintf(&b, "%d: %s %s\n", i, it.Status, it.Error)
		}
		if o.Err != nil {
			fmt.Fprintf(&b, "error: %v\n", o.Err)
		} else if o.Items == nil {
			fmt.Fprintf(&b, "version %d\n", s.state.Policy(s.name).Version)
		}
	}
	switch words[0] {
	case "apply":
		s.define(body, show, &b)
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now += int64(d)
	case "decide":
		for _, u := range words[1:] {
			d := s.decide(u)
			fmt.Fprintf(&b, "%s: %s p=%.4f version %d held=%v\n", u, d.Name, d.Propensity, d.Version, d.HeldBack)
		}
	case "expose", "feedback":
		show(s.units(words))
	case "aggregate":
		show(s.aggregate(words, body))
	case "simulate":
		s.simulate(words)
	case "visit":
		show(s.visit(words))
	case "visits":
		s.visits(words)
	case "due":
		for _, e := range s.state.Due(s.now) {
			o := s.apply(e)
			fmt.Fprintf(&b, "%s: ", e.Kind)
			show(o)
		}
	case "report":
		s.report(&b)
	case "lift":
		s.lift(&b)
	case "explain":
		e, err := s.state.Explain(s.tokens[words[1]])
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			break
		}
		fmt.Fprintf(&b, "%s p=%.4f at %.4f, consistent %v, %d steps, cause %s\n", e.Arm, e.Propensity, e.Fraction,
			e.Consistent, len(e.Steps), e.Policy.Cause)
		for _, q := range e.Scores {
			fmt.Fprintf(&b, "  %s: score %.3f, width %.3f, p %.3f:", q.Arm, q.Score, q.Width, q.Probability)
			for _, c := range q.Contributions {
				fmt.Fprintf(&b, " %s %.3f", c.Coordinate, c.Product)
			}
			b.WriteString("\n")
		}
	case "arm.add":
		show(s.event(KindAddArm, ArmEvent{Experiment: s.name, Arm: words[1], Value: []byte(words[2])}))
	case "arm.retire":
		show(s.event(KindRetireArm, ArmEvent{Experiment: s.name, Arm: words[1]}))
	case "arm.veto", "arm.lift":
		show(s.event(words[0], ArmEvent{
			Experiment: s.name, Arm: words[1], Reason: strings.Join(words[2:], " "),
		}))
	case "open":
		show(s.open(7))
	case "release":
		s.release(show, &b)
	case "conclude":
		var e ConcludeEvent
		if len(words) > 1 {
			if err := json.Unmarshal([]byte(strings.Join(words[1:], " ")), &e); err != nil {
				s.t.Fatal(err)
			}
		}
		e.Experiment = s.name
		show(s.event(KindConclude, e))
	default:
		o := s.event(words[0], NameEvent{Experiment: s.name, Reason: strings.Join(words[1:], " ")})
		if words[0] == KindDelete && o.Err == nil {
			return "deleted"
		}
		show(o)
	}
	return b.String()
}

func (s *scenario) define(body string, show func(Outcome), b *strings.Builder) {
	d, err := definition.Parse("definition.yaml", []byte(body))
	if err != nil {
		fmt.Fprintf(b, "error: %v\n", err)
		return
	}
	s.name = d.Name
	events, err := s.state.Plan(d, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		e, err := s.state.Try(d.Name, e)
		if err != nil {
			fmt.Fprintf(b, "error: %v\n", err)
			return
		}
		fmt.Fprintf(b, "%s: ", e.Kind)
		show(s.apply(e))
	}
	if len(events) == 0 {
		b.WriteString("no change\n")
	}
}

func (s *scenario) decide(unit string) policy.Assignment {
	d := s.state.Policy(s.name).Decide(unit)
	s.tokens[unit] = policy.Token{
		Experiment: s.name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
		Unit: d.Unit, Time: time.Unix(0, s.now).UTC(),
	}
	return d
}

// units runs "expose u1 u2 ..." or "feedback u1:click=1,time=2 u2:...".
func (s *scenario) units(words []string) Outcome {
	p := join.Units{Experiment: s.name}
	kind := KindExposures
	if words[0] == "feedback" {
		kind = KindFeedback
	}
	for _, w := range words[1:] {
		u, list, _ := strings.Cut(w, ":")
		var metrics map[string]float64
		for _, pair := range strings.Split(list, ",") {
			if name, v, ok := strings.Cut(pair, "="); ok {
				x, err := strconv.ParseFloat(v, 64)
				if err != nil {
					s.t.Fatal(err)
				}
				if metrics == nil {
					metrics = map[string]float64{}
				}
				metrics[name] = x
			}
		}
		p.Items = append(p.Items, join.UnitOf(s.tokens[u], metrics))
	}
	return s.event(kind, p)
}

// aggregate runs "aggregate SOURCE SEQUENCE" with lines "version arm units metric=n/sum/squares ...
// *ratio=product".
func (s *scenario) aggregate(words []string, body string) Outcome {
	seq, err := strconv.ParseUint(words[2], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	p := api.Aggregate{Experiment: s.name, Source: words[1], Sequence: seq}
	for line := range strings.Lines(body) {
		f := strings.Fields(line)
		item := api.AggregateItem{Arm: f[1], Metrics: map[string]api.Sums{}}
		_, _ = fmt.Sscan(f[0], &item.Version)
		_, _ = fmt.Sscan(f[2], &item.Units)
		for _, w := range f[3:] {
			name, v, _ := strings.Cut(w, "=")
			if r, ok := strings.CutPrefix(name, "*"); ok {
				var q api.PairSums
				_, _ = fmt.Sscanf(v, "%d/%g/%g/%g/%g/%g", &q.N, &q.X, &q.Y, &q.XX, &q.YY, &q.XY)
				item.Pairs = map[string]api.PairSums{r: q}
				continue
			}
			var q api.Sums
			_, _ = fmt.Sscanf(v, "%d/%g/%g", &q.N, &q.Sum, &q.Squares)
			item.Metrics[name] = q
		}
		p.Items = append(p.Items, item)
	}
	return s.event(KindAggregate, p)
}

// simulate runs "simulate FIRST COUNT SD metric=arm:mean,arm:mean ...". Each unit gets a decision,
// is exposed and reports a normal value with its arm's mean or, if SD is 0, a value that is 1 with
// that probability and 0 otherwise.
func (s *scenario) simulate(words []string) {
	first, _ := strconv.Atoi(words[1])
	count, _ := strconv.Atoi(words[2])
	sd, _ := strconv.ParseFloat(words[3], 64)
	means := map[string]map[string]float64{}
	for _, w := range words[4:] {
		metric, list, _ := strings.Cut(w, "=")
		means[metric] = map[string]float64{}
		for _, pair := range strings.Split(list, ",") {
			arm, v, _ := strings.Cut(pair, ":")
			means[metric][arm], _ = strconv.ParseFloat(v, 64)
		}
	}
	p := join.Units{Experiment: s.name}
	for i := first; i < first+count; i++ {
		unit := "unit-" + strconv.Itoa(i)
		d := s.decide(unit)
		r := random.New(uint64(i), s.name)
		metrics := map[string]float64{}
		for _, m := range slices.Sorted(maps.Keys(means)) {
			mean := means[m][d.Name]
			if sd > 0 {
				metrics[m] = mean + sd*stat.Normal(r)
			} else if metrics[m] = 0; r.Float64() < mean {
				metrics[m] = 1
			}
		}
		p.Items = append(p.Items, join.UnitOf(s.tokens[unit], metrics))
		if len(p.Items) == 500 || i == first+count-1 {
			q := join.Units{Experiment: s.name}
			for _, e := range p.Items {
				e.Metrics = nil
				q.Items = append(q.Items, e)
			}
			s.event(KindExposures, q)
			s.event(KindFeedback, p)
			p.Items = nil
		}
	}
}

// visit runs "visit UNIT CONTEXT", a decision in a context and its exposure.
func (s *scenario) visit(words []string) Outcome {
	context := json.RawMessage(strings.Join(words[2:], " "))
	p := s.state.Policy(s.name)
	d := p.Decide(words[1])
	if p.Linear != nil {
		if x, err := p.Linear.Encoder().Encode(nil, context); err == nil {
			d = p.DecideIn(words[1], x)
		}
	}
	s.tokens[words[1]] = policy.Token{
		Experiment: s.name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
		Time: time.Unix(0, s.now).UTC(),
	}
	e := join.UnitOf(s.tokens[words[1]], nil)
	e.Context = context
	return s.event(KindExposures, join.Units{Experiment: s.name, Items: []join.Unit{e}})
}

// visits runs "visits FIRST COUNT": units with an age from 0 to 99 and a land. The first arm
// pleases the old, the second one the young, any other half of all. A tenth of the feedback is
// lost.
func (s *scenario) visits(words []string) {
	first, _ := strconv.Atoi(words[1])
	count, _ := strconv.Atoi(words[2])
	shown, said := join.Units{Experiment: s.name}, join.Units{Experiment: s.name}
	p := s.state.Policy(s.name)
	for i := first; i < first+count; i++ {
		r := random.New(uint64(i), s.name)
		age, unit := int(100*r.Float64()), "unit-"+strconv.Itoa(i)
		context := json.RawMessage(fmt.Sprintf(`{"age":%d,"land":%q}`, age, []string{"de", "fr"}[i%2]))
		d := p.Decide(unit)
		if p.Linear != nil {
			x, err := p.Linear.Encoder().Encode(nil, context)
			if err != nil {
				s.t.Fatal(err)
			}
			d = p.DecideIn(unit, x)
		}
		s.tokens[unit] = policy.Token{
			Experiment: s.name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, s.now).UTC(),
		}
		e := join.UnitOf(s.tokens[unit], nil)
		e.Context = context
		shown.Items = append(shown.Items, e)
		pleased, value := 0.5, 0.0
		switch d.Arm {
		case 0:
			pleased = float64(age) / 100
		case 1:
			pleased = 1 - float64(age)/100
		}
		if r.Float64() < pleased {
			value = 1
		}
		if r.Float64() > 0.1 {
			e.Context, e.Metrics = nil, map[string]float64{"like": value}
			said.Items = append(said.Items, e)
		}
	}
	s.event(KindExposures, shown)
	s.event(KindFeedback, said)
}

func number(p *float64) string {
	if p == nil {
		return "-"
	}
	return strconv.FormatFloat(*p, 'f', 4, 64)
}

func (s *scenario) report(b *strings.Builder) {
	r, err := s.state.Report(s.name)
	if err != nil {
		fmt.Fprintf(b, "error: %v\n", err)
		return
	}
	fmt.Fprintf(b, "%s, version %d, round %d, open %d\n", r.State, r.Version, r.Round, r.Health.Open)
	for _, name := range slices.Sorted(maps.Keys(r.Arms)) {
		a := r.Arms[name]
		fmt.Fprintf(b, "  %s: share %.4f, n %d, active %v", name, r.Mixture[name], a.N, a.Active)
		if a.Stopped != "" {
			fmt.Fprintf(b, ", stopped (%s)", a.Stopped)
		}
		for _, m := range slices.Sorted(maps.Keys(a.Metrics)) {
			q := a.Metrics[m]
			fmt.Fprintf(b, "; %s %s [%s, %s] of %d", m, number(q.Mean), number(q.Low), number(q.High), q.N)
		}
		b.WriteString("\n")
	}
	if r.HoldBack != nil {
		fmt.Fprintf(b, "  held back: n %d\n", r.HoldBack.N)
	}
	if q := r.Ramp; q != nil {
		fmt.Fprintf(b, "  ramp: stage %d of %d, share %v, waits for %q\n", q.Stage, q.Stages, q.Share, q.Waits)
	}
	if q := r.Conclusion; q != nil {
		fmt.Fprintf(b, "  concluded: version %d, %s %v, value %s, %d units, %d guardrails\n", q.Version, q.Source,
			q.Mixture, number(q.Value), q.Units, len(q.Guardrails))
	}
	if q := r.Privacy; q != nil {
		fmt.Fprintf(b, "  private: %d of %d released, %d wait, excess %d, ended %q, counts %v", q.Released, q.Rounds,
			q.Waiting, q.Excess, q.Ended, q.Counts)
		for _, m := range slices.Sorted(maps.Keys(q.Noise)) {
			fmt.Fprintf(b, ", noise of %s %.2f", m, q.Noise[m])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "  feedback %+v, exposures %+v\n", r.Feedback, r.Health.Exposures)
	for _, g := range r.Guardrails {
		fmt.Fprintf(b, "  guardrail %s %s %v: %s, %s [%s, %s], %s\n", g.Metric, g.Kind, g.Limit, g.State,
			number(g.Estimate), number(g.Low), number(g.High), g.Action)
	}
	if q := r.Promise; q != nil {
		fmt.Fprintf(b, "  promise: %s\n", q.Text)
	}
	fmt.Fprintf(b, "  orphans %d, missing %v, dead %v, mismatch %v\n", r.Health.Orphans, r.Health.Missing,
		r.Health.Dead, r.Health.SampleRatio.Mismatch)
	if g := r.Regret; g != nil {
		fmt.Fprintf(b, "  best single %s %s, mixture %s, average %s, regret per unit %s of %d\n",
			g.BestSingle.Arm, number(g.BestSingle.Value), number(g.Mixture), number(g.Average), number(g.PerUnit),
			g.Units)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "  %s %s\n", n.Time.Format("01-02 15:04"), n.Text)
	}
}
