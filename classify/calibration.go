package classify

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/portable"
)

// CalibrationRule says how scores are mapped to probabilities.
type CalibrationRule int

// The rules for the calibration.
const (
	// CalibrationAuto is isotonic where the rarer class has 500 held-out rows or more, else
	// Platt's, and none where a training holds nothing out. Where [Auto] compares on a stream, the
	// rows that were scored before they were learned from count as held out.
	CalibrationAuto CalibrationRule = iota
	// CalibrationPlatt is [scored.Platt], and CalibrationIsotonic [scored.Isotonic]. Where a
	// training holds nothing out, the scores come from five more trainings, each without one fold
	// of the rows; those of a stream are from before a row is learned from.
	CalibrationPlatt
	CalibrationIsotonic
	CalibrationNone
)

// calibrationRules are the names of the rules.
var calibrationRules = []string{"auto", "platt", "isotonic", "none"}

// asked reports whether the rule is worth trainings of its own.
func (r CalibrationRule) asked() bool { return r == CalibrationPlatt || r == CalibrationIsotonic }

// isotonicRows is the number of rows of the rarer class from which on CalibrationAuto is isotonic:
// with fewer its steps follow the noise (Niculescu-Mizil and Caruana, ICML 2005).
const isotonicRows = 500

// Where the scores of a calibration come from.
const (
	sourceHeldOut     = "held out"
	sourceCrossFitted = "cross-fitted"
	sourceProgressive = "progressive"
)

// Calibration maps the score of a linear model to the probability of its label. With Odds it maps
// the odds that the scores of all classes give the label. It is fitted to the scores of rows that
// the model has not seen: the held-out part, with folds all rows, each scored by the model of its
// fold, or of a stream the latter half at least, each scored before the learner learned from it. On
// these rows model and threshold were chosen too, which makes the probabilities, and what the curve
// says of thresholds, slightly too good. The model at the end of a stream is none of those that
// scored its latter half, and has seen more rows: what is said of its thresholds is approximate.
type Calibration struct {
	// Source is "held out", "cross-fitted" or "progressive".
	Source string `json:"source"`
	// Rows is the number of rows, and Positives of those with the label.
	Rows      int64 `json:"rows"`
	Positives int64 `json:"positives"`
	// Map maps the score, before the threshold is subtracted, to the probability.
	Map scored.Calibration `json:"map"`
	// Odds says, of all classes of a Multiclass model or of none, that Map is from the logarithm of
	// the odds in softmax: the score less ln Σ e^z of the scores z of all other classes.
	Odds bool `json:"odds,omitempty"`
	// Curve has the recalls and precisions of other thresholds, for a Binary model.
	Curve *scored.Curve `json:"curve,omitempty"`
}

// newCalibration fits a calibration. For scores of one class the probability is a constant. ok is
// false without rows or where a score is not finite.
func newCalibration(examples []Scored, rule CalibrationRule, source string) (c Calibration, ok bool) {
	c.Source = source
	c.Rows, c.Positives = scored.Count(examples)
	if rule == CalibrationAuto {
		rule = CalibrationPlatt
		if min(c.Positives, c.Rows-c.Positives) >= isotonicRows {
			rule = CalibrationIsotonic
		}
	}
	switch {
	case c.Rows == 0:
		return c, false
	case c.Positives == 0 || c.Positives == c.Rows:
		finite := !slices.ContainsFunc(examples, func(e Scored) bool { return e.Score-e.Score != 0 })
		p, n := float64(c.Positives), float64(c.Rows-c.Positives)
		c.Map, ok = scored.Calibration{Offset: portable.Log((p + 0.5) / (n + 0.5))}, finite
	case rule == CalibrationPlatt:
		c.Map, ok = scored.Platt(examples)
	default:
		if c.Map, ok = scored.Isotonic(examples); ok {
			c.Map.Inside(examples)
		}
	}
	if c.Map.Score == nil {
		c.Map.Score, c.Map.Probability = []float64{}, []float64{}
	}
	return c, ok
}

// calibrated returns the calibrations of the chosen models by held-out scores, nil without any.
func (t *training) calibrated(source string) ([]Calibration, error) {
	rule := t.opt.Calibration
	if t.valid == nil || rule == CalibrationNone {
		return nil, nil
	}
	if t.data.Task == Binary {
		return calibrationOf(t.kept, rule, source), nil
	}
	if t.data.Task == Multiclass {
		return calibrateHeldOut(t.ctx, *t.valid, t.models, rule, source)
	}
	out := make([]Calibration, len(t.models))
	var buf [][]Scored
	var err error
	for k := range t.models {
		if buf, err = t.valid.against(k).scores(t.ctx, []*Linear{&t.models[k]}, buf); err != nil {
			return nil, err
		}
		var ok bool
		if out[k], ok = newCalibration(buf[0], rule, source); !ok {
			return nil, nil
		}
	}
	return out, nil
}

// calibrationOf is the calibration of a Binary model, with its curve; nil if it cannot be had.
func calibrationOf(examples []Scored, rule CalibrationRule, source string) []Calibration {
	c, ok := newCalibration(examples, rule, source)
	curve, both := scored.NewCurve(examples)
	if !ok || !both {
		return nil
	}
	c.Curve = &curve
	return []Calibration{c}
}

// crossCalibrated fits a calibration of models to scores of trainings that leave one fold out each,
// moved to the spread of the models' own. The folds are trained in parallel.
func crossCalibrated(ctx context.Context, data Data, opt Options, models []Linear) ([]Calibration, error) {
	rule := opt.Calibration
	opt.Calibration, opt.Progress = CalibrationNone, nil
	part, err := data.sizes()
	if err != nil {
		return nil, err
	}
	folds, err := data.Set.Folds(opt.Seed, "calibration", int(min(defaultFolds, part.Rows)))
	if err != nil {
		return nil, err
	}
	outputs := data.Task.outputs(len(data.Labels))
	separate := data.Task != Multiclass // else the scores of a row are compared with one another
	rowsOf := func(set *dataset.Set, k int) Data {
		d := data.withSet(set)
		if data.Task != Binary {
			d = d.against(k)
		}
		return d
	}
	scores := make([][][]Scored, len(folds)) // by fold and model
	spreads := make([][]spread, len(folds))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for j, f := range folds {
		group.Go(func() error {
			r, err := Fit(running, data.withSet(f.Rest), opt)
			if err != nil {
				return fmt.Errorf("calibration, fold %d of %d: %w", j+1, len(folds), err)
			}
			for k := range outputs {
				of := []*Linear{&r.Models[k]}
				s, err := rowsOf(f.Part, k).scores(running, of, nil)
				if err != nil {
					return err
				}
				if separate {
					seen, err := rowsOf(f.Rest, k).scores(running, of, nil)
					if err != nil {
						return err
					}
					spreads[j] = append(spreads[j], spreadOf(seen[0]))
				}
				scores[j] = append(scores[j], s[0])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := make([][]Scored, outputs)
	for k := range all {
		var of []spread
		for j := range scores {
			all[k] = append(all[k], scores[j][k]...)
			if separate {
				of = append(of, spreads[j][k])
			}
		}
		if separate {
			seen, err := rowsOf(data.Set, k).scores(ctx, []*Linear{&models[k]}, nil)
			if err != nil {
				return nil, err
			}
			meanSpread(of).onto(spreadOf(seen[0]), all[k])
		}
	}
	if data.Task == Multiclass {
		odds, z := make([]classOdds, len(all[0])), make([]float64, outputs)
		for i := range odds {
			for k := range all {
				z[k] = all[k][i].Score
			}
			odds[i] = newClassOdds(z)
		}
		of := func(k int) ([]Scored, error) { return all[k], nil }
		return calibrateClasses(rule, sourceCrossFitted, outputs, odds, of)
	}
	var out []Calibration
	for k := range outputs {
		if data.Task == Binary {
			return calibrationOf(all[k], rule, sourceCrossFitted), nil
		}
		c, ok := newCalibration(all[k], rule, sourceCrossFitted)
		if !ok {
			return nil, nil
		}
		out = append(out, c)
	}
	return out, nil
}

// Progressive reports whether the scores are those of a stream, each from before the model learned
// from the row.
func (c *Calibration) Progressive() bool { return c.Source == sourceProgressive }

// Probabilities appends the probabilities for the scores of [Classifier.RawScores] to dst: with
// Binary that of the positive label, else that of each label. Those of classes are each class's
// against the others, by its score or its odds, divided by their sum (Zadrozny and Elkan 2002). It
// needs a model with Calibration. It is safe for concurrent use.
func (m *Model) Probabilities(dst, scores []float64) []float64 {
	from := len(dst)
	dst = append(dst, scores...)
	p := dst[from:]
	if m.Calibration[0].Odds {
		odds := newClassOdds(p)
		for k, z := range p {
			p[k] = odds.of(k, z)
		}
	}
	sum := 0.0
	for k, z := range p {
		p[k] = m.Calibration[k].Map.Of(z)
		sum += p[k]
	}
	if m.Task == Multiclass {
		for k := range p {
			if p[k] /= sum; sum == 0 { // all are too small for a number
				p[k] = 1 / float64(len(p))
			}
		}
	}
	return dst
}

// checkCalibration checks the calibrations of a model file.
func (m *Model) checkCalibration() error {
	switch {
	case m.Calibration == nil:
		return nil
	case m.Privacy != nil:
		return noregret.BadInputf("calibration", "a private model has none")
	case len(m.Calibration) != len(m.Models):
		return noregret.BadInputf("calibration", "there are %d, want one for each of the %d models", len(m.Calibration),
			len(m.Models))
	}
	for k := range m.Calibration {
		place := fmt.Sprintf("calibration[%d]", k)
		if err := m.Calibration[k].check(place, m.Task == Binary); err != nil {
			return err
		}
		if odds := m.Calibration[k].Odds; odds != m.Calibration[0].Odds || odds && m.Task != Multiclass {
			return noregret.BadInputf(place+".odds", "%v, want true for all classes of a multiclass model or for none",
				odds)
		}
	}
	return nil
}

func (c *Calibration) check(place string, curve bool) error {
	x, y := c.Map.Score, c.Map.Probability
	switch {
	case c.Source != sourceHeldOut && c.Source != sourceCrossFitted && c.Source != sourceProgressive:
		return noregret.BadInputf(place+".source", "%q, want %q, %q or %q", c.Source, sourceHeldOut, sourceCrossFitted,
			sourceProgressive)
	case c.Rows < 1 || c.Positives < 0 || c.Positives > c.Rows:
		return noregret.BadInputf(place+".rows", "%d rows, %d positive, want at least 1 and no more positive ones",
			c.Rows,
			c.Positives)
	case c.Map.Slope-c.Map.Slope != 0 || c.Map.Offset-c.Map.Offset != 0:
		return noregret.BadInputf(place+".map", "slope %v and offset %v, want finite numbers", c.Map.Slope,
			c.Map.Offset)
	case len(x) != len(y):
		return noregret.BadInputf(place+".map", "%d scores and %d probabilities, want the same number", len(x), len(y))
	}
	for i := range x {
		if x[i]-x[i] != 0 || !(y[i] > 0 && y[i] < 1) || i > 0 && (x[i] <= x[i-1] || y[i] < y[i-1]) {
			return noregret.BadInputf(fmt.Sprintf("%s.map.score[%d]", place, i),
				"the score is %v with probability %v, want "+
					"scores that ascend and probabilities in (0, 1) that do not descend", x[i], y[i])
		}
	}
	if (c.Curve != nil) != curve {
		return noregret.BadInputf(place+".curve", "want one for two classes, and none else")
	}
	if curve {
		return c.Curve.Check(place + ".curve")
	}
	return nil
}

// Cheapest returns the label of the least expected cost to predict, the first of equal ones.
// costs[i][j] is what it costs to predict label j where i is the true one, and probabilities are
// those of the true labels. O(C²).
func Cheapest(costs [][]float64, probabilities []float64) int {
	best, least := 0, math.Inf(1)
	for j := range costs {
		cost := 0.0
		for i, p := range probabilities {
			cost += float64(p * costs[i][j])
		}
		if cost < least {
			best, least = j, cost
		}
	}
	return best
}
