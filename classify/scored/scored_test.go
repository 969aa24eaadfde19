package scored_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// oracle has numbers of scikit-learn 1.9.1 and SciPy 1.17.1: roc_auc_score,
// average_precision_score, log_loss and brier_score_loss of the sigmoids of the scores,
// IsotonicRegression at some scores, and beta.ppf. The error of AUC is from DeLong's structural
// components, that of average precision from numeric derivatives by the weights, and Platt's curve
// from Newton's method in extended precision.
type oracle struct {
	Cases []struct {
		Name     string
		Score    []float64
		Weight   []float64
		Positive []int
		AUC      float64
		AUCError *float64 `json:"auc_error"`
		AP       float64
		APError  float64 `json:"ap_error"`
		LogLoss  float64 `json:"log_loss"`
		Brier    float64
		At       []float64
		Isotonic []float64
		Slope    float64
		Offset   float64
	}
	Bounds [][5]float64 // successes, trials, confidence, lower, upper
}

func readOracle(t *testing.T) (o oracle) {
	t.Helper()
	raw, err := os.ReadFile("testdata/oracle.json")
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOracle(t *testing.T) {
	for _, c := range readOracle(t).Cases {
		var e, p []scored.Example
		for i, z := range c.Score {
			e = append(e, scored.Example{Score: z, Weight: c.Weight[i], Positive: c.Positive[i] == 1})
			p = append(p, scored.Example{
				Score: 1 / (1 + math.Exp(-z)), Weight: c.Weight[i],
				Positive: c.Positive[i] == 1,
			})
		}
		near := func(what string, got, want, tolerance float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tolerance) {
				t.Errorf("%s: %s is %v, want %v", c.Name, what, got, want)
			}
		}
		auc, ap := scored.AUC(e), scored.AveragePrecision(e)
		near("AUC", auc.Value, c.AUC, 1e-9)
		if c.AUCError != nil {
			near("error of AUC", auc.Error, *c.AUCError, 1e-9)
		}
		near("average precision", ap.Value, c.AP, 1e-9)
		near("its error", ap.Error, c.APError, 1e-6)
		near("log loss", scored.LogLoss(p).Value, c.LogLoss, 1e-9)
		near("Brier", scored.Brier(p).Value, c.Brier, 1e-9)
		isotonic, ok := scored.Isotonic(e)
		platt, ok2 := scored.Platt(e)
		if !ok || !ok2 {
			t.Fatalf("%s: no calibration", c.Name)
		}
		for i, z := range c.At {
			near("isotonic", isotonic.Of(z), c.Isotonic[i], 1e-9)
		}
		near("slope", platt.Slope, c.Slope, 1e-9)
		near("offset", platt.Offset, c.Offset, 1e-9)
	}
}

func TestBoundsAreExact(t *testing.T) {
	for _, b := range readOracle(t).Bounds {
		k, n := int(b[0]), int(b[1])
		if got := stat.BinomialLower(k, n, b[2]); math.Abs(got-b[3]) > 1e-9 {
			t.Errorf("lower bound of %d in %d is %v, want %v", k, n, got, b[3])
		}
		if got := stat.BinomialUpper(k, n, b[2]); math.Abs(got-b[4]) > 1e-9 {
			t.Errorf("upper bound of %d in %d is %v, want %v", k, n, got, b[4])
		}
	}
}

// draw draws examples of which one in four is positive; the scores of positives are normal around
// 1, those of others around 0.
func draw(r *random.Source, n int) []scored.Example {
	out := make([]scored.Example, n)
	for i := range out {
		e := scored.Example{Weight: 1, Positive: r.Float64() < 0.25, Score: stat.Normal(r)}
		if e.Positive {
			e.Score++
		}
		out[i] = e
	}
	return out
}

// recallAt and precisionAt are those of all examples that draw may return.
func recallAt(t float64) float64 { return stat.NormalBelow(1 - t) }

func precisionAt(t float64) float64 {
	p, n := 0.25*recallAt(t), 0.75*stat.NormalBelow(-t)
	return p / (p + n)
}

// TestIntervalsCover draws examples many times and counts how often intervals of 95 % hold what
// they are for.
func TestIntervalsCover(t *testing.T) {
	const runs, n = 1000, 400
	// The probability of positive at a score, by Bayes' rule.
	posterior := func(z float64) float64 { return 1 / (1 + 3*math.Exp(0.5-z)) }
	probabilities := func(e []scored.Example) []scored.Example {
		p := make([]scored.Example, len(e))
		for i, x := range e {
			x.Score = posterior(x.Score)
			p[i] = x
		}
		return p
	}
	measures := []struct {
		name string
		of   func(e []scored.Example) scored.Estimate
		unit bool
	}{
		{"AUC", scored.AUC, true},
		{"average precision", scored.AveragePrecision, true},
		{"log loss", func(e []scored.Example) scored.Estimate { return scored.LogLoss(probabilities(e)) }, false},
		{"Brier", func(e []scored.Example) scored.Estimate { return scored.Brier(probabilities(e)) }, true},
	}
	r := random.New(1, "truth")
	large := draw(r, 200_000)
	for _, m := range measures {
		truth, covered := m.of(large).Value, 0
		r := random.New(2, m.name)
		for range runs {
			e := m.of(draw(r, n))
			low, high := e.Positive(0.95)
			if m.unit {
				low, high = e.Unit(0.95)
			}
			if low <= truth && truth <= high {
				covered++
			}
		}
		// Three standard deviations of a count of 1,000 at 95 % are 21, and large is within a
		// twentieth of a standard error of the truth.
		if covered < 925 || covered > 975 {
			t.Errorf("%s: %d of %d intervals hold the truth, want some 950", m.name, covered, runs)
		}
	}
}

// TestChoicesHold counts how often a threshold that was chosen for a recall or precision has it.
func TestChoicesHold(t *testing.T) {
	const runs, n, confidence = 1000, 600, 0.9
	r := random.New(3, "choices")
	recalls, precisions, found := 0, 0, 0
	sum := 0.0
	for range runs {
		c, ok := scored.NewCurve(draw(r, n))
		if !ok {
			t.Fatal("no curve")
		}
		if p, _, ok := c.AtRecall(0.8, confidence); !ok || recallAt(p.Threshold) >= 0.8 {
			recalls++
			sum += recallAt(p.Threshold)
		}
		p, _, ok := c.AtPrecision(0.5, confidence)
		if ok {
			found++
		}
		if !ok || precisionAt(p.Threshold) >= 0.5 {
			precisions++
		}
	}
	if recalls < 872 || sum/float64(recalls) > 0.87 {
		t.Errorf("recall held in %d of %d choices with mean %v, want at least 900 but for noise, and little above",
			recalls,
			runs, sum/float64(recalls))
	}
	if precisions < 872 || found < 500 {
		t.Errorf("precision held in %d of %d choices, %d found, want at least 900 but for noise", precisions, runs,
			found)
	}
}

// TestPrecisionHolds draws rows whose probability of positive depends on their rank in several
// ways, one of them with a precision that crosses the wanted one again and again, and counts how
// often the threshold that is chosen has it. With the bounds of two ranks a doubling, each by an
// equal part of the rest (Bonferroni), the mean recall was .69, .58 and .77 of the first, second
// and last.
func TestPrecisionHolds(t *testing.T) {
	const runs, n, confidence, bins = 300, 1000, 0.95, 20_000
	falling := func(at, slope float64) func(u float64) float64 {
		return func(u float64) float64 { return 1 / (1 + math.Exp((u-at)*slope)) }
	}
	for name, c := range map[string]struct {
		positive          func(u float64) float64 // the share u of the rows has a larger score
		precision, recall float64
	}{
		"steep":   {falling(0.2, 40), 0.9, 0.83},
		"gentle":  {falling(0.1, 15), 0.5, 0.66},
		"bad top": {func(u float64) float64 { return min(falling(0.2, 40)(u), 0.5+max(0, 1e3*(u-0.01))) }, 0.9, 0.2},
		"waves": {func(u float64) float64 {
			switch {
			case u > 0.5:
				return 0.3
			case math.Mod(u*40, 2) < 1:
				return 1
			}
			return 0.8
		}, 0.9, 0},
		"waves, low": {func(u float64) float64 { return 0.9 - 0.1*math.Sin(u*25) - 0.3*u*u }, 0.5, 0.97},
	} {
		above := make([]float64, bins+1) // the positives with at most the share u of the rows above
		for i := range bins {
			above[i+1] = above[i] + c.positive((float64(i)+0.5)/bins)
		}
		r, held, recall := random.New(6, name), 0, 0.0
		for range runs {
			rows := make([]scored.Example, n)
			for i := range rows {
				u := r.Float64()
				rows[i] = scored.Example{Score: -u, Weight: 1, Positive: r.Float64() < c.positive(u)}
			}
			curve, _ := scored.NewCurve(rows)
			p, _, ok := curve.AtPrecision(c.precision, confidence)
			at := min(int(-p.Threshold*bins), bins)
			if ok {
				recall += above[at] / above[bins]
			}
			if !ok || above[at] >= c.precision*float64(at) {
				held++
			}
		}
		if recall /= runs; held < 274 || recall < c.recall {
			t.Errorf("%s: the precision held in %d of %d choices, want at least 285 but for noise; mean recall %.3f, "+
				"want at least %v", name, held, runs, recall, c.recall)
		}
	}
}

// TestIntervalOfPrecisionCovers counts how often the interval of the precision above a threshold
// that was fixed before holds it.
func TestIntervalOfPrecisionCovers(t *testing.T) {
	const runs = 1000
	r, covered := random.New(4, "precision"), 0
	for range runs {
		c, _ := scored.NewCurve(draw(r, 500))
		p := c.At(1.2)
		low, high := p.Precision.Interval(0.9)
		if truth := precisionAt(p.Threshold); low <= truth && truth <= high {
			covered++
		}
	}
	if covered < 872 {
		t.Errorf("%d of %d intervals hold the precision, want at least 900 but for noise", covered, runs)
	}
}

func TestCurveIsSmall(t *testing.T) {
	e := draw(random.New(5, "curve"), 100_000)
	c, ok := scored.NewCurve(e)
	if err := c.Check("curve"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if len(c.Score) > 300 {
		t.Errorf("%d points, want a few hundred", len(c.Score))
	}
	for i, s := range c.Score {
		var p, n float64
		for _, x := range e {
			if x.Score > s && x.Positive {
				p++
			} else if x.Score > s {
				n++
			}
		}
		if p != c.Positives[i] || n != c.Negatives[i] {
			t.Fatalf("at %v: %v and %v above, want %v and %v", s, c.Positives[i], c.Negatives[i], p, n)
		}
	}
	// Equal weights of any size are rows.
	for i := range e {
		e[i].Weight = 0.5
	}
	if d, _ := scored.NewCurve(e); d.Positives[10] != c.Positives[10] || len(d.Score) != len(c.Score) {
		t.Errorf("weights of one half give %v positives at 10, want %v", d.Positives[10], c.Positives[10])
	}
}

// Classes with weights of their own, as of a sample with more positives than the population: the
// recall and its bounds are those of the rows, and the interval of the precision covers that of the
// population.
func TestClassesOfDifferentWeights(t *testing.T) {
	const runs = 400
	r, covered := random.New(8, "strata"), 0
	for range runs {
		e := draw(r, 800)
		plain, _ := scored.NewCurve(e)
		for i := range e {
			if !e[i].Positive {
				e[i].Weight = 9
			}
		}
		c, _ := scored.NewCurve(e)
		p, q := c.At(1), plain.At(1)
		if p.Recall != q.Recall {
			t.Fatalf("recall %v, want that of the rows, %v", p.Recall, q.Recall)
		}
		low, high := p.Precision.Interval(0.9)
		tp, fp := 0.25*recallAt(p.Threshold), 9*0.75*stat.NormalBelow(-p.Threshold)
		if truth := tp / (tp + fp); low <= truth && truth <= high {
			covered++
		}
	}
	// Three standard deviations of a count of 400 at 90 % are 18.
	if covered < 342 || covered > 390 {
		t.Errorf("%d of %d intervals hold the precision of the population, want 360 or somewhat more", covered, runs)
	}
}

func TestTooFewForARecall(t *testing.T) {
	c, _ := scored.NewCurve(draw(random.New(6, "few"), 100))
	p, bound, ok := c.AtRecall(0.99, 0.95)
	if ok || p.Recall.Value() != 1 || !(bound > 0.8 && bound < 0.99) {
		t.Errorf("%d positives: ok is %v with bound %v at recall %v, want false at the lowest threshold",
			int(p.Recall.All), ok, bound, p.Recall.Value())
	}
}

func TestInside(t *testing.T) {
	var e []scored.Example
	for i := range 20 {
		e = append(e, scored.Example{Score: float64(i), Weight: 2, Positive: i >= 10})
	}
	c, _ := scored.Isotonic(e)
	if c.Of(0) != 0 || c.Of(19) != 1 {
		t.Fatalf("ends %v and %v, want 0 and 1", c.Of(0), c.Of(19))
	}
	c.Inside(e)
	if got, want := c.Of(3), 0.5/11; math.Abs(got-want) > 1e-15 || math.Abs(c.Of(15)-(1-want)) > 1e-15 {
		t.Errorf("ends %v and %v, want half an example in 11: %v", c.Of(3), c.Of(15), want)
	}
}

func TestUndefined(t *testing.T) {
	one := []scored.Example{{Score: 1, Weight: 1, Positive: true}, {Score: 2, Weight: 1, Positive: true}}
	if v := scored.AUC(one).Value; v == v {
		t.Errorf("AUC of one class is %v, want NaN", v)
	}
	bad := []scored.Example{{Score: math.NaN(), Weight: 1, Positive: true}, {Score: 2, Weight: 1}}
	if _, ok := scored.Isotonic(bad); ok {
		t.Error("a NaN score was accepted")
	}
	if _, ok := scored.NewCurve(one); ok {
		t.Error("a curve of one class was made")
	}
	if v := scored.Brier(one).Value; v == v {
		t.Errorf("Brier of scores above 1 is %v, want NaN", v)
	}
}

// TestCopies compares examples with their copies written out.
func TestCopies(t *testing.T) {
	r := random.New(5, "copies")
	var once, copies []scored.Example
	for range 400 {
		n := 1 + r.IntN(6)
		e := scored.Example{Score: math.Round(20 * r.Float64()), Weight: 0.5, Positive: r.Float64() < 0.3}
		copies = append(copies, slices.Repeat([]scored.Example{e}, n)...)
		e.Weight, e.Copies = float64(n)*e.Weight, float32(n)
		once = append(once, e)
	}
	for i, e := range []struct{ once, copies scored.Estimate }{
		{scored.AUC(once), scored.AUC(copies)}, {scored.AveragePrecision(once), scored.AveragePrecision(copies)},
	} {
		if math.Abs(e.once.Value-e.copies.Value) > 1e-12 || math.Abs(e.once.Error-e.copies.Error) > 1e-12 {
			t.Errorf("%d: %v, written out %v", i, e.once, e.copies)
		}
	}
	curveOf := func(examples []scored.Example) []float64 {
		c, ok := scored.NewCurve(examples)
		if !ok {
			t.Fatal("no curve")
		}
		return slices.Concat(c.Score, c.Positives, c.Negatives, []float64{c.Ratio})
	}
	mapOf := func(fit func([]scored.Example) (scored.Calibration, bool), examples []scored.Example) []float64 {
		c, ok := fit(examples)
		if !ok {
			t.Fatal("no calibration")
		}
		c.Inside(examples)
		return slices.Concat(c.Score, c.Probability, []float64{c.Slope, c.Offset})
	}
	near := func(what string, got, want []float64) {
		t.Helper()
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s: %v, written out %v", what, got, want)
		}
	}
	if all, positives := scored.Count(once); all != int64(len(copies)) || positives < 300 || positives >= all {
		t.Errorf("%d examples, %d of them positive, want %d", all, positives, len(copies))
	}
	near("curve", curveOf(once), curveOf(copies))
	near("isotonic", mapOf(scored.Isotonic, once), mapOf(scored.Isotonic, copies))
	near("platt", mapOf(scored.Platt, once), mapOf(scored.Platt, copies))
}

// Every interval has its value, also of counts that are not whole.
func TestIntervalsHoldTheirValues(t *testing.T) {
	for _, all := range []float64{1, 1.2, 2.9, 100, 100.5, 1e4} {
		for _, of := range []float64{0, 1e-3, 0.01, 0.5, 0.9, 0.999, 0.99999, 1} {
			for _, confidence := range []float64{0.95, 0.5, 0.01} {
				s := scored.Share{of * all, all}
				low, high := s.Interval(confidence)
				if v := s.Value(); !(0 <= low && low <= v && v <= high && high <= 1) {
					t.Errorf("%v has the interval %v to %v, confidence %v", s, low, high, confidence)
				}
				e := scored.Estimate{of, all * 1e-9}
				if low, high := e.Unit(confidence); of > 0 && of < 1 && !(low <= of && of <= high) {
					t.Errorf("%v is between %v and %v", e, low, high)
				}
				if low, high := e.Positive(confidence); of > 0 && !(low <= of && of <= high) {
					t.Errorf("%v is between %v and %v", e, low, high)
				}
			}
		}
	}
}
