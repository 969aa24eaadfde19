package classify

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

func parseDrift(t testing.TB, text string) forget.Rule {
	t.Helper()
	d, err := ParseDrift(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// driftLearner returns the learner of a stream for an algorithm and a drift.
func driftLearner(t testing.TB, algorithm, text string, change func(o *Options)) Learner {
	t.Helper()
	o := Options{Algorithm: algorithm, Measure: measure.FBeta{B: 1}, Drift: parseDrift(t, text)}
	if algorithm == "spade" {
		o.Measure = measure.GMean{}
	}
	o.Config.BurnIn = 100
	if change != nil {
		change(&o)
	}
	_, l, err := streamLearner(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// flipping returns n examples whose label is the sign of the first feature, and of its opposite
// after every period examples.
func flipping(seed uint64, n, period int) []Example {
	r := random.New(seed, "flipping")
	out := make([]Example, n)
	for i := range out {
		x := Example{Index: []uint32{0, 1, 2}, Weight: 1}
		for range x.Index {
			x.Value = append(x.Value, float32(3+r.NormFloat64()))
		}
		x.Positive = (x.Value[0] > 3.5) == (i/period%2 == 0)
		out[i] = x
	}
	return out
}

var driftTexts = []string{
	"none", "restart:interval=300", "restart:interval=300,mode=full,warm=0", "restart:interval=300,mode=full,warm=40",
	"discount:window=200", "detector:adwin:delta=0.05", "detector:mode=full,warm=20,page-hinkley:threshold=8",
	"adaptive:interval=50",
}

var driftAlgorithms = []string{"stamp", "spade", "sgd-logistic", "sgd-hinge", "sgd-balanced"}

// eachDrift runs f for every way to keep up with a stream and every algorithm that learns from
// streams.
func eachDrift(t *testing.T, f func(t *testing.T, build func() Learner)) {
	for _, text := range driftTexts {
		for _, algorithm := range driftAlgorithms {
			t.Run(algorithm+" "+text, func(t *testing.T) {
				f(t, func() Learner { return driftLearner(t, algorithm, text, nil) })
			})
		}
	}
}

// Both spellings read as the same rule, which is written in the older one and reads back.
func TestParseDrift(t *testing.T) {
	for text, want := range map[string]string{
		"none": "none", "restart": "restart:interval=5000,mode=steps",
		"restart:mode=full":                   "restart:interval=5000,mode=full,warm=200",
		"restart:interval=150,mode=full":      "restart:interval=150,mode=full,warm=150",
		"restart:interval=7,mode=full,warm=0": "restart:interval=7,mode=full,warm=0",
		"discount":                            "discount:window=1000", "discount:window=9": "discount:window=9",
		"detector": "detector:mode=steps,adwin", "detector:adwin": "detector:mode=steps,adwin",
		"detector:mode=full": "detector:mode=full,warm=200,adwin",
		"detector:mode=full,warm=3,kswin:seed=2,window=200": "detector:mode=full,warm=3,kswin:seed=2,window=200",
		"detector:page-hinkley":                             "detector:mode=steps,page-hinkley",
		"adaptive":                                          "adaptive:interval=250",
		"adaptive:interval=10":                              "adaptive:interval=10",
		"restart=5000":                                      "restart:interval=5000,mode=steps",
		"restart=150,mode=full":                             "restart:interval=150,mode=full,warm=150",
		"restart=7,mode=full,warm=0":                        "restart:interval=7,mode=full,warm=0",
		"memory=9":                                          "discount:window=9",
		"memory=2147483647":                                 "discount:window=2147483647",
		"detector=adwin":                                    "detector:mode=steps,adwin",
		"detector=kswin:seed=2,window=200,mode=full,warm=3": "detector:mode=full,warm=3,kswin:seed=2,window=200",
		"adaptive=10": "adaptive:interval=10",
	} {
		d := parseDrift(t, text)
		if driftText(d) != want {
			t.Errorf("%s: %s, want %s", text, driftText(d), want)
		}
		for _, again := range []string{driftText(d), d.String()} {
			if r := parseDrift(t, again); r != d {
				t.Errorf("%s: reads back as %+v", again, r)
			}
		}
	}
	for text, want := range map[string]string{
		"":                                     `"": want none, memory=M, restart=N`,
		"Restart":                              "want none, memory=M",
		"none:x":                               "want none, memory=M",
		"restart:":                             `"" is not an option of restart`,
		"restart:window=5":                     `"window=5" is not an option of restart`,
		"restart:interval=0":                   `restart: "0": want a whole number of at least 1`,
		"restart:interval=x":                   `restart: "x": want a whole number of at least 1`,
		"restart:interval=5,":                  `"" is not an option of restart`,
		"restart:mode=half":                    `mode: "half": want steps or full`,
		"restart:warm=5":                       "want it with mode=full only",
		"restart:mode=full,warm=-1":            "warm: -1: want 0 to",
		"restart:interval=9,mode=full,warm=10": "warm is 10 and interval 9: a new learner would never predict",
		"discount:window=1":                    `memory: "1": want a finite number of rounds above 1`,
		"discount:interval=5":                  `"interval=5" is not an option of discount`,
		"memory=9.5":                           "want a memory of 2 to 2147483647 rows, a whole number",
		"memory=2147483648":                    "want a memory of 2 to 2147483647 rows, a whole number",
		"window=9":                             "a stream keeps no rows; want memory=9",
		"detector:nothing":                     `detector: "nothing": want one of cusum`,
		"detector:adwin:delta=2":               "delta: 2: want a number in (0, 1)",
		"detector:cusum":                       "cusum needs the mean",
		"detector:":                            `detector: "": want one of cusum`,
		"adaptive:interval=-2":                 `adaptive: "-2": want a whole number of at least 1`,
	} {
		_, err := ParseDrift(text)
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v (%v), want %q", text, err, noregret.CodeOf(err), want)
		}
	}
}

// A learner that is restarted in full equals a new one that has seen the examples since the restart
// only, bit for bit.
func TestFullRestartIsAFreshLearner(t *testing.T) {
	const interval = 250
	xs := stream(3, 1100)
	for _, algorithm := range driftAlgorithms {
		l := driftLearner(t, algorithm, fmt.Sprintf("restart:interval=%d,mode=full,warm=0", interval), nil)
		for i, x := range xs {
			if err := l.Observe(x); err != nil {
				t.Fatal(err)
			}
			n := (i + 1) / interval * interval
			if i%97 != 0 && i+1 != n {
				continue
			}
			fresh := driftLearner(t, algorithm, "none", nil)
			feed(t, fresh, xs[n:i+1])
			if !sameModel(l.Model(), fresh.Model()) {
				t.Fatalf("%s: example %d: another model than that of a learner of the last %d examples", algorithm, i+1,
					i+1-n)
			}
			a, _ := l.(*restarted).current.MarshalBinary()
			if b, _ := fresh.MarshalBinary(); !bytes.Equal(a, b) {
				t.Fatalf("%s: example %d: another state", algorithm, i+1)
			}
		}
		if n := l.(*restarted).Restarts(); n != int64(len(xs)/interval) {
			t.Errorf("%s: %d restarts", algorithm, n)
		}
	}
}

// A new learner replaces the old one also where warm is the whole interval.
func TestRestartWithTheLongestWarm(t *testing.T) {
	l := driftLearner(t, "sgd-hinge", "restart:interval=60,mode=full,warm=60", nil).(*restarted)
	for i, x := range flipping(9, 600, 1<<30) {
		feed(t, l, []Example{x})
		first := onlineOf(l.predictor()).before
		if want := int64(max((i+1)/60-1, 0) * 60); first != want {
			t.Fatalf("example %d: the learner that began at %d predicts, want that of %d", i+1, first, want)
		}
	}
}

// A stream may end in the burn-in of the learner that predicts, and after a restart with examples
// of weight 0 only.
func TestDriftFinish(t *testing.T) {
	xs := flipping(10, 130, 1<<30)
	for i := range xs {
		xs[i].Positive = i == 3 || i == 70
	}
	l := driftLearner(t, "sgd-hinge", "restart:interval=60,mode=full,warm=60", nil)
	feed(t, l, xs)
	if len(l.Model().Weights) > 0 {
		t.Fatal("the burn-in has ended: the test is too weak")
	}
	if err := l.Finish(); err != nil || len(l.Model().Weights) == 0 {
		t.Errorf("in the burn-in: %v, the model %+v", err, l.Model())
	}
	for _, mode := range []string{"full,warm=0", "full,warm=40", "steps"} {
		l := driftLearner(t, "sgd-hinge", "restart:interval=120,mode="+mode, nil)
		feed(t, l, flipping(11, 120, 1<<30))
		feed(t, l, []Example{{}})
		if err := l.Finish(); err != nil {
			t.Errorf("%s, an example of weight 0 after a restart: %v", mode, err)
		}
	}
	l = driftLearner(t, "sgd-hinge", "restart:interval=120,mode=full", nil)
	feed(t, l, []Example{{}})
	if err := l.Finish(); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("examples of weight 0 only: %v", err)
	}
}

// A restart of the steps keeps the weights: the last iterate predicts, and the next step has the
// size of the first. An interval beyond the stream changes nothing.
func TestRestartOfSteps(t *testing.T) {
	xs := stream(4, 600)
	for _, algorithm := range driftAlgorithms {
		plain := driftLearner(t, algorithm, "none", nil)
		l := driftLearner(t, algorithm, "restart:interval=400", nil)
		feed(t, plain, xs[:399])
		feed(t, l, xs[:399])
		if !sameModel(plain.Model(), l.Model()) {
			t.Errorf("%s: another model before the first restart", algorithm)
		}
		feed(t, plain, xs[399:400])
		feed(t, l, xs[399:400])
		p, r := onlineOf(plain), onlineOf(l.(*restarted).current)
		for i := range p.lin.Dim() {
			if p.lin.Weight(i) != r.lin.Weight(i) {
				t.Fatalf("%s: a restart changes weight %d", algorithm, i)
			}
		}
		if r.t != 0 || stepRoot(r) != 0 {
			t.Errorf("%s: step %d after a restart", algorithm, r.t)
		}
	}
}

// A restored snapshot continues bit for bit, from any point of the stream: in the burn-in, around
// restarts and while a retired learner predicts.
func TestDriftSnapshots(t *testing.T) {
	testsize.NoRace(t)
	xs := flipping(1, 900, 250)
	eachDrift(t, func(t *testing.T, build func() Learner) {
		whole := build()
		feed(t, whole, xs)
		want, err := whole.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, 30, 299, 300, 310, 400, 640} {
			a, b := build(), build()
			feed(t, a, xs[:cut])
			saved, err := a.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			feed(t, b, xs[:17]) // which the snapshot replaces
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			feed(t, b, xs[cut:])
			if got, _ := b.MarshalBinary(); !bytes.Equal(got, want) {
				t.Fatalf("cut at %d: the restored learner ends elsewhere", cut)
			}
			if !sameModel(b.Model(), whole.Model()) {
				t.Fatalf("cut at %d: another model", cut)
			}
		}
		damaged := bytes.Clone(want)
		damaged[len(damaged)/2] ^= 1
		if err := whole.UnmarshalBinary(damaged); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("damaged: %v", err)
		}
		if after, _ := whole.MarshalBinary(); !bytes.Equal(after, want) {
			t.Error("a refused snapshot changed the learner")
		}
	})
	other := driftLearner(t, "stamp", "restart:interval=301", nil)
	saved, _ := driftLearner(t, "stamp", "restart:interval=300", nil).MarshalBinary()
	if err := other.UnmarshalBinary(saved); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a snapshot of another drift: %v", err)
	}
}

// Bad examples are refused with their number in the stream and change nothing, also after restarts.
func TestDriftRefusesBadExamples(t *testing.T) {
	xs := flipping(2, 700, 200)
	eachDrift(t, func(t *testing.T, build func() Learner) {
		l := build()
		feed(t, l, xs)
		before, _ := l.MarshalBinary()
		bad := Example{Index: []uint32{0, 1}, Value: []float32{1, float32(math.NaN())}, Weight: 1}
		if err := l.Observe(bad); noregret.CodeOf(err) != noregret.BadInput ||
			!strings.Contains(err.Error(), "example 701, entry 1") {
			t.Errorf("%v", err)
		}
		bad = Example{Index: []uint32{1, 0, 1}, Value: []float32{1, 2, 3}, Weight: 1}
		if err := l.Observe(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("a repeated index: %v", err)
		}
		if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
			t.Error("a refused example changed the learner")
		}
	})
}

// Score is the score of Model, whoever predicts.
func TestDriftScoreIsModelScore(t *testing.T) {
	xs := flipping(3, 1000, 300)
	eachDrift(t, func(t *testing.T, build func() Learner) {
		l := build()
		for i, x := range xs {
			feed(t, l, xs[i:i+1])
			if i%61 != 60 {
				continue
			}
			m := l.Model()
			if got, want := l.Score(x.Index, x.Value), m.Score(x.Index, x.Value); math.Abs(got-want) > 1e-9*max(1,
				math.Abs(want)) {
				t.Fatalf("example %d: score %v, that of the model %v", i+1, got, want)
			}
		}
	})
}

// On a stream whose concept flips, every way to keep up makes far fewer mistakes than none.
func TestDriftPays(t *testing.T) {
	testsize.NoRace(t)
	const n = 8000
	xs := flipping(5, n, 1000)
	for _, algorithm := range driftAlgorithms {
		errors := map[string]float64{}
		for _, text := range []string{
			"none", "restart:interval=250", "restart:interval=250,mode=full,warm=60", "discount:window=100", "detector",
			"detector:mode=full,warm=60,adwin", "adaptive:interval=50",
		} {
			p, err := newPrequential(driftLearner(t, algorithm, text, nil), 500, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range xs {
				if err := p.Observe(x); err != nil {
					t.Fatal(err)
				}
			}
			c := p.Total()
			errors[text] = (c.FN + c.FP) / n
		}
		t.Logf("%s: %v", algorithm, errors)
		for text, e := range errors {
			if text != "none" && e > .85*errors["none"] {
				t.Errorf("%s: error rate %.3f with %s, %.3f without", algorithm, e, text, errors["none"])
			}
		}
	}
}

// A detector restarts soon after a flip, and not in a stream that does not change, although the
// errors fall while the learner learns.
func TestDetectorRestarts(t *testing.T) {
	testsize.NoRace(t)
	for _, algorithm := range driftAlgorithms {
		for _, name := range changepoint.Names() {
			if name == "cusum" {
				name += ":mean=0.3"
			}
			if name == "kswin" {
				name += ":alpha=0.0001,window=300,recent=100"
			}
			calm := driftLearner(t, algorithm, "detector:"+name, nil).(*restarted)
			feed(t, calm, flipping(7, 3000, 1<<30))
			if n := calm.Restarts(); n > 1 && !strings.HasPrefix(name, "cusum") {
				t.Errorf("%s, %s: %d restarts in a stream without a change", algorithm, name, n)
			}
			l := driftLearner(t, algorithm, "detector:"+name, nil).(*restarted)
			xs := flipping(7, 2500, 2000)
			feed(t, l, xs[:2000])
			before := l.Restarts()
			delay := 0
			for ; l.Restarts() == before && delay < 400; delay++ {
				feed(t, l, xs[2000+delay:2001+delay])
			}
			if delay == 400 {
				t.Errorf("%s, %s: no restart within 400 examples of a flip", algorithm, name)
			}
		}
	}
}

// Of n blocks the adaptive learner runs log₂(n) + 2 learners at most, and those of the intervals of
// the geometric covering.
func TestCoveringIntervals(t *testing.T) {
	const interval = 4
	a := driftLearner(t, "sgd-hinge", fmt.Sprintf("adaptive:interval=%d", interval), func(o *Options) {
		o.Config.BurnIn = 1
	}).(*covering)
	xs := stream(8, 700)
	ages := map[int]int{}
	for i, x := range xs {
		if err := a.Observe(x); err != nil {
			t.Fatal(err)
		}
		block := int(a.s.Rows) / interval
		if block == 0 || int(a.s.Rows)%interval != 0 {
			continue
		}
		most := int(math.Log2(float64(block))) + 2
		if len(a.members) != most {
			t.Fatalf("example %d, block %d: %d learners, want %d", i, block, len(a.members), most)
		}
		for j := 1; j < len(a.members); j++ {
			begun := block >> (j - 1) << (j - 1)
			if got, want := a.members[j].coin.Count, (block-begun)*interval; got != want {
				t.Fatalf("block %d: the learner of intervals of 2^%d blocks has seen %d examples, want %d", block, j-1,
					got,
					want)
			}
			ages[j]++
		}
	}
	if len(ages) < 6 {
		t.Errorf("%d lengths of intervals: the test is too short", len(ages))
	}
}

// Data that are kept are shuffled, so that drift is refused; so are detectors and steps that
// exclude each other, and batch algorithms.
func TestDriftExclusions(t *testing.T) {
	f1 := measure.FBeta{B: 1}
	o := Options{Measure: f1, Drift: parseDrift(t, "restart")}
	if err := o.Validate(Binary); noregret.CodeOf(err) != noregret.Usage ||
		!strings.Contains(err.Error(), "train on a stream") {
		t.Errorf("kept data: %v", err)
	}
	if _, err := Fit(context.Background(), Data{}, o); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("Fit: %v", err)
	}
	o.Config.Steps = StepsBetting
	for text, want := range map[string]string{
		"restart": "use mode=full", "detector": "use mode=full", "discount": "coin betting remembers all bets",
	} {
		o.Drift = parseDrift(t, text)
		if err := (StreamOptions{Fit: o}).Validate(); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("betting with %s: %v", text, err)
		}
	}
	for _, text := range []string{"none", "restart:mode=full", "detector:mode=full", "adaptive"} {
		o.Drift = parseDrift(t, text)
		if err := (StreamOptions{Fit: o}).Validate(); err != nil {
			t.Errorf("betting with %s: %v", text, err)
		}
	}
	if err := (StreamOptions{Fit: Options{
		Measure: f1, Algorithm: "amp",
		Drift: parseDrift(t, "restart"),
	}}).Validate(); err == nil {
		t.Error("a batch algorithm is accepted")
	}
	multi, err := measure.ParseMulti("macro_f1", false)
	if err != nil {
		t.Fatal(err)
	}
	several := Options{Measure: multi, Drift: parseDrift(t, "restart")}
	if err := several.Validate(Multiclass); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("several classes: %v", err)
	}
	o = Options{Measure: f1, Drift: parseDrift(t, "restart:interval=199,mode=full")}
	if err := (StreamOptions{Fit: o}).Validate(); noregret.CodeOf(err) != noregret.Usage ||
		!strings.Contains(err.Error(), "want an interval of at least 200 examples") {
		t.Errorf("an interval shorter than every burn-in: %v", err)
	}
	o.Drift.Rounds, o.Drift.Warm = 200, 200
	if err := (StreamOptions{Fit: o}).Validate(); err != nil {
		t.Errorf("an interval of the shortest burn-in: %v", err)
	}
	o = Options{Measure: f1, Drift: forget.Rule{Kind: forget.Restart}}
	if err := (StreamOptions{Fit: o}).Validate(); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("an interval of 0: %v", err)
	}
}
