package scenario

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/law"
	"github.com/noregret/noregret/pasto"
)

// Problem is a world with known means, read from a JSON file: it shows what to expect of a learner
// on a user's own case.
type Problem struct {
	// Metrics and Soft are the parameters of [pasto.NewGoals].
	Metrics []pasto.Metric `json:"metrics"`
	Soft    float64        `json:"soft,omitempty"`
	// Arms are the candidates. Their names must differ.
	Arms []Arm `json:"arms"`
	// Control is the name of the arm served to the concurrent control group. Relative guardrails
	// need it.
	Control string `json:"control,omitempty"`
	// Noise is the standard deviation σ of a group's metric, from 0 to 1e98. For a metric with a
	// range, noise is cut off on both sides at the distance of the arm's mean from the nearer end,
	// which leaves the mean unchanged. Groups is the number of groups in a round, 1 if left out.
	Noise  float64 `json:"noise,omitempty"`
	Groups int     `json:"groups,omitempty"`
	// Laws are the distributions of one unit's value, by metric, in place of Noise, and Units is
	// the number of units of a group. With them learners see the variances of the units too.
	Laws  map[string]law.Law `json:"laws,omitempty"`
	Units int64              `json:"units,omitempty"`
	// Level moves all metrics, nil for not at all.
	Level *law.Level `json:"level,omitempty"`
	// Delay is the number of rounds by which observations come late. Those of an arm that is no
	// longer served then are dropped.
	Delay int `json:"delay,omitempty"`
	// Rounds and Runs are defaults for [Options], 10,000 and 100 if left out.
	Rounds int `json:"rounds,omitempty"`
	Runs   int `json:"runs,omitempty"`
}

// Arm is a candidate with its true means.
type Arm struct {
	Name  string    `json:"name"`
	Means []float64 `json:"means"`
}

// MostNoise is the largest standard deviation of the noise. Noise is at most 13 standard
// deviations.
const MostNoise = 1e98

// mostMean bounds means, contrasts, thresholds, prices, weights and softness, so that the objective
// is finite.
const mostMean = 1e100

// mostProblem is the largest size of a problem file.
const mostProblem = 64 << 20

// ReadProblem reads a problem from a file. An invalid problem is an error of code bad_input that
// names the file.
func ReadProblem(path string) (*Problem, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, path, "%w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostProblem+1))
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, path, "%w", err)
	}
	if len(text) > mostProblem {
		return nil, noregret.BadInputf(path, "larger than 64 MiB")
	}
	p, err := ParseProblem(text)
	if err != nil {
		return nil, noregret.BadInputf(path, "%w", err)
	}
	return p, nil
}

// ParseProblem decodes and checks a problem. Unknown keys, keys in another case, duplicate keys and
// null are errors.
func ParseProblem(text []byte) (*Problem, error) {
	p := &Problem{}
	if err := strictjson.Decode(text, p, strictjson.Rules{}); err != nil {
		return nil, err
	}
	if _, err := p.table(); err != nil {
		return nil, err
	}
	return p, nil
}

// names lists the names of the arms.
func (p *Problem) names() []string {
	names := make([]string, len(p.Arms))
	for k := range p.Arms {
		names[k] = p.Arms[k].Name
	}
	return names
}

// table checks the problem and returns the arms' raw means.
func (p *Problem) table() (*pasto.Table, error) {
	g, err := pasto.NewGoals(p.Metrics, p.Soft)
	if err != nil {
		return nil, err
	}
	if err := pasto.ValidateNames(p.names()); err != nil {
		return nil, err
	}
	if err := p.checkLaws(); err != nil {
		return nil, err
	}
	switch {
	case p.Soft > mostMean:
		return nil, noregret.BadInputf("soft", "%v: want at most %v", p.Soft, mostMean)
	case !(p.Noise >= 0 && p.Noise <= MostNoise):
		return nil, noregret.BadInputf("noise", "%v: want a finite standard deviation, at least 0 and at most %v",
			p.Noise, MostNoise)
	case p.Groups < 0 || p.Groups > 100_000:
		return nil, noregret.BadInputf("groups", "%d: want 1 to 100,000", p.Groups)
	case p.Rounds < 0 || p.Runs < 0:
		return nil, noregret.BadInputf("rounds", "%d rounds and %d runs: want numbers above 0", p.Rounds, p.Runs)
	case g.HasRelative() && p.Control == "":
		return nil, noregret.BadInputf("control",
			"none: a relative guardrail needs a control group, so want the name of its arm")
	case p.Control != "" && p.control() < 0:
		return nil, noregret.BadInputf("control", "no arm is named %q: want the name of an arm", p.Control)
	case p.Control != "" && !g.HasRelative() && !g.HasHard():
		return nil, noregret.BadInputf("control", "%q: no guardrail is relative or hard, leave it out", p.Control)
	}
	for i := range p.Metrics {
		m, place := &p.Metrics[i], fmt.Sprintf("metrics[%d]", i)
		switch {
		case math.Abs(m.Threshold) > mostMean || m.Lambda > mostMean:
			return nil, noregret.BadInputf(place, "threshold %v and lambda %v of %q: want both of size at most 1e100",
				m.Threshold,
				m.Lambda, m.Name)
		case m.Weight > mostMean:
			return nil, noregret.BadInputf(place, "weight %v of %q: want at most 1e100", m.Weight, m.Name)
		}
	}
	t, err := pasto.NewTable(len(p.Arms), len(p.Metrics))
	if err != nil {
		return nil, err
	}
	for k := range p.Arms {
		if err := p.checkMeans(k); err != nil {
			return nil, err
		}
		copy(t.Arm(k), p.Arms[k].Means)
	}
	if c := p.control(); c >= 0 { // observed values must be in bounds too
		dst := make([]float64, len(p.Metrics))
		for k := range p.Arms {
			if err := g.Contrast(dst, p.Arms[k].Means, p.Arms[c].Means); err != nil {
				return nil, noregret.BadInputf(fmt.Sprintf("arms[%d]", k), "%w", err)
			}
			for i, v := range dst {
				if m := &p.Metrics[i]; m.Relative &&
					math.Abs(v)+float64(float64(13*p.Noise)*(2+math.Abs(m.Threshold))) > mostMean {
					return nil, noregret.BadInputf(fmt.Sprintf("arms[%d].means[%d]", k, i),
						"%v of %q less %v times the control's is %v: with a noise of %v it can exceed the largest, %v",
						p.Arms[k].Means[i], p.Arms[k].Name, m.Factor(p.Arms[c].Means[i]), v, p.Noise, mostMean)
				}
			}
		}
	}
	return t, nil
}

// checkMeans returns an error if means of arm k are missing or outside the ranges of their metrics.
func (p *Problem) checkMeans(k int) error {
	a := &p.Arms[k]
	if len(a.Means) != len(p.Metrics) {
		return noregret.BadInputf(fmt.Sprintf("arms[%d]", k), "%q has %d means: want one for each of the %d metrics",
			a.Name,
			len(a.Means), len(p.Metrics))
	}
	for i, v := range a.Means {
		if m := &p.Metrics[i]; !m.Admits(v) {
			return noregret.BadInputf(fmt.Sprintf("arms[%d].means[%d]", k, i),
				"%v of %q: %q must be in its range [%v, %v]", v, a.Name,
				m.Name, m.Lower, m.Upper)
		}
		if math.Abs(v) > mostMean {
			return noregret.BadInputf(fmt.Sprintf("arms[%d].means[%d]", k, i),
				"%v of %q: want a number of size at most 1e100", v,
				a.Name)
		}
		if m := &p.Metrics[i]; !m.HasRange() && math.Abs(v)+float64(13*p.Noise) > mostMean {
			return noregret.BadInputf(fmt.Sprintf("arms[%d].means[%d]", k, i),
				"%v of %q: with a noise of %v it can exceed the largest, 1e100", v, a.Name, p.Noise)
		}
	}
	return nil
}

func (p *Problem) control() int {
	for k := range p.Arms {
		if p.Control != "" && p.Arms[k].Name == p.Control {
			return k
		}
	}
	return -1
}

// problemWorld is the world of a problem: raw metrics within their ranges, and a control group.
type problemWorld struct {
	synthetic
	raw     *pasto.Table
	metrics []pasto.Metric
	arm     int // of the control group, -1 for none
	safe    int // the control arm, -1 for none
}

// Observe adds noise to the means. In a range the noise is cut off symmetrically, so that it has
// mean 0.
func (w *problemWorld) Observe(_ int, arms []int, dst []float64, r *random.Source) {
	clear(dst)
	if w.sigma > 0 {
		stat.Normals(dst, r)
	}
	m := w.raw.Metrics()
	for i, k := range arms {
		for j, v := range w.raw.Arm(k) {
			noise := float64(w.sigma * dst[i*m+j])
			x := &w.metrics[j]
			if !x.HasRange() {
				dst[i*m+j] = v + noise
				continue
			}
			most := min(v-x.Lower, x.Upper-v)
			noise = min(max(noise, -most), most)
			dst[i*m+j] = min(max(v+noise, x.Lower), x.Upper) // the sum can round out of the range
		}
	}
}

// controlArm implements armed.
func (w *problemWorld) controlArm() int { return w.safe }

// control implements grouped.
func (w *problemWorld) control(t int, dst []float64, r *random.Source) {
	if w.arm >= 0 {
		w.Observe(t, []int{w.arm}, dst, r)
	}
}

// problemSpec makes the scenario of a problem file.
func problemSpec(path string) (Spec, error) {
	p, err := ReadProblem(path)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{
		Name: path, Doc: "a problem from a file", Rounds: 10_000, Runs: 100, Noise: p.Noise, Common: true,
		Fixed: true, stream: "file",
	}
	if p.Rounds > 0 {
		s.Rounds = p.Rounds
	}
	if p.Runs > 0 {
		s.Runs = p.Runs
	}
	s.Prepare = func(o *Options) (func(int) (World, error), []string, string, error) {
		q := *p
		q.Noise = *o.Noise
		raw, err := q.table()
		if err != nil {
			return nil, nil, "", noregret.BadInputf(path, "%w", err)
		}
		if err := q.checkGrowth(o.Rounds); err != nil {
			return nil, nil, "", noregret.BadInputf(path, "%w", err)
		}
		metrics := append([]pasto.Metric(nil), p.Metrics...)
		for i := range metrics {
			metrics[i].Hard = metrics[i].Hard || o.Hard && metrics[i].Role == pasto.Guardrail
		}
		g, err := pasto.NewGoals(metrics, p.Soft)
		if err != nil {
			return nil, nil, "", err
		}
		seen := raw.Clone()
		for k := range p.Arms {
			for i := range metrics {
				if m := &metrics[i]; m.Relative {
					seen.Arm(k)[i] -= m.Beside(raw.Arm(p.control())[i])
				}
			}
		}
		w := &problemWorld{
			synthetic: synthetic{goals: g, before: seen, q: max(p.Groups, 1), sigma: *o.Noise}, raw: raw,
			metrics: metrics, arm: -1, safe: p.control(),
		}
		if g.HasRelative() {
			w.arm = p.control()
		}
		if len(p.Laws) == 0 && p.Delay == 0 {
			return func(int) (World, error) { return w, nil }, p.names(), "file", nil
		}
		return func(int) (World, error) { return p.world(w), nil }, p.names(), "file", nil
	}
	return s, nil
}

// world returns the world of one run, which has a state.
func (p *Problem) world(w *problemWorld) World {
	if len(p.Laws) == 0 {
		return &lateWorld{w, p.Delay}
	}
	x := &lawWorld{problemWorld: w, units: p.Units, level: p.Level, late: p.Delay}
	for i := range p.Metrics {
		x.laws = append(x.laws, p.Laws[p.Metrics[i].Name])
	}
	return x
}

// lateWorld is a problemWorld whose observations come late.
type lateWorld struct {
	*problemWorld
	late int
}

// delay implements delayed.
func (w *lateWorld) delay() int { return w.late }
