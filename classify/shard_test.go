package classify

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// shardModels trains one pass on n shards.
func shardModels(t *testing.T, d Data, n int, opt Options, from *Model) []*Model {
	t.Helper()
	var models []*Model
	for k := range n {
		share := dataset.Share{Number: k, Of: n}
		part, err := d.Set.Part(share)
		if err != nil {
			t.Fatal(err)
		}
		m, err := FitShard(t.Context(), d.withSet(part), ShardOptions{Fit: opt, Share: share, From: from})
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	return models
}

func merged(t *testing.T, models []*Model) *Model {
	t.Helper()
	m, err := Merge(models, MergeOptions{AllowMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Shards of rows that are not alike have a warning; those of one file have none.
func TestMergeOfUnlikeShards(t *testing.T) {
	var all, early, late []Example
	for i, x := range stream(5, 2000) {
		n := len(x.Index)
		if n > 0 && x.Index[n-1] == 12 {
			n--
		}
		x.Index, x.Value = append(slices.Clone(x.Index[:n]), 12), append(slices.Clone(x.Value[:n]), float32(i))
		if all = append(all, x); i < 1000 {
			early = append(early, x)
		} else {
			late = append(late, x)
		}
	}
	opt := Options{Measure: measure.FBeta{B: 1}, Seed: 2}
	if m := merged(t, shardModels(t, asData(t, all), 4, opt, nil)); len(m.Warnings) > 0 {
		t.Errorf("of one file: %q", m.Warnings)
	}
	var models []*Model
	for _, xs := range [][]Example{early, late} {
		models = append(models, shardModels(t, asData(t, xs), 1, opt, nil)...)
	}
	m := merged(t, models)
	want := "are not like those of all: the mean of 12 is 0.87 standard deviations away"
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], want) {
		t.Errorf("warnings %q, want one that has %q", m.Warnings, want)
	}
}

// shardsOf makes the moments of n shards with the given number of rows, whose row i of shard k is
// made by a function, and returns the warning of their merge.
func shardsOf(n, rows int, row func(k, i int, x []float64)) string {
	m, all := &merging{place: make([]map[uint32]uint32, n)}, new(moments)
	x := make([]float64, 200)
	for k := range n {
		one := &moments{f: make([]featureMoments, len(x))}
		for i := range rows {
			clear(x)
			row(k, i, x)
			one.total++
			one.rows++
			for j, v := range x {
				if v != 0 {
					one.f[j].add(v, 1)
				}
			}
		}
		s := &ModelShard{Parts: []ShardPart{{Share: k, Of: n}}, Moments: one.shard()}
		m.shards = append(m.shards, &Model{Shard: s})
		all.add(s.Moments, m.at(k))
	}
	return m.unlike(all, &Model{Schema: &dataset.Schema{Dim: len(x)}})
}

// Chance alone gives no warning, whatever the features are.
func TestMergeOfAlikeShards(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{1, 2, 4, 16, 50} {
		for _, rows := range []int{30, 300} {
			for range 3 {
				text := shardsOf(n, rows, func(_, _ int, x []float64) {
					x[0] = r.NormFloat64()
					x[1] = math.Exp(3 * r.NormFloat64())
					x[2] = math.Pow(r.Float64(), -1/1.1) // Pareto, without a variance
					x[3] = math.Pow(r.Float64(), -2)     // without a mean
					x[4+r.IntN(5)] = 1
					x[9] = 0.1 // whose variance is 0 but for rounding
					for j, share := range []float64{.001, .01} {
						if r.Float64() < share {
							x[10+j] = math.Exp(r.NormFloat64())
						}
					}
					for range 2 { // words, most of which a shard of few rows has not
						x[12+r.IntN(188)] = 1
					}
				})
				if text != "" {
					t.Errorf("%d shards of %d rows: %s", n, rows, text)
				}
			}
		}
	}
}

// Features that are in some shards only, or twice as often, give a warning; a shift that is small
// or of few rows gives none.
func TestMergeOfUnlikeFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	set := func(x []float64, j int, is bool) {
		if is {
			x[j] = 1
		}
	}
	for _, c := range []struct {
		name string
		n    int
		row  func(k, i int, x []float64)
		want string
	}{
		{
			"ten sensors in turn", 2,
			func(k, i int, x []float64) { x[(2*i+k)%10] = 1 },
			"the rows of shard 0/2 of  are not like those of all: the share of rows with 0 is 0.2, of all 0.1, and " +
				"more features differ: 9.",
		},
		{
			"ten sensors in turn", 4,
			func(k, i int, x []float64) { x[(4*i+k)%10] = 1 },
			"the share of rows with 0 is 0.2, of all 0.1, and more features differ: 9.",
		},
		{"ten sensors in turn", 3, func(k, i int, x []float64) { x[(3*i+k)%10] = 1 }, ""},
		{
			"a shift of a half", 2,
			func(k, _ int, x []float64) { x[0] = r.NormFloat64() + 1.3*float64(k) },
			"the mean of 0 is 0.54 standard deviations away. Without",
		},
		{"a shift of a quarter", 2, func(k, _ int, x []float64) { x[0] = r.NormFloat64() + .5*float64(k) }, ""},
		{
			"small shifts of all", 2,
			func(k, _ int, x []float64) {
				for j := range 12 {
					x[j] = r.NormFloat64() + .4*float64(k)
				}
			},
			"",
		},
		{"one of fifty in a shard only", 2, func(k, i int, x []float64) { set(x, 0, k == 1 && i%50 == 0) }, ""},
		{
			"words of a shard", 2,
			func(k, _ int, x []float64) { x[2*r.IntN(10)+k] = 1 },
			", and more features differ: 19.",
		},
		{"few rows", 2, func(k, i int, x []float64) { set(x, k, i < 20) }, ""},
	} {
		got := shardsOf(c.n, 2000, c.row)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %d shards: %q, want %q", c.name, c.n, got, c.want)
		}
	}
}

// The merged model has the same bytes for any order of the shards, in every pass, and is read as it
// was written; so are the shards.
func TestMergeOrder(t *testing.T) {
	d := asData(t, stream(71, 3000))
	for _, opt := range []Options{
		{Measure: measure.GMean{}, Seed: 1},
		{Measure: measure.FBeta{B: 1}, Seed: 2},
		{Measure: measure.FBeta{B: 1}, Algorithm: "sgd-balanced", Threshold: ThresholdTuned},
	} {
		var from *Model
		for pass := 1; pass <= 3; pass++ {
			models := shardModels(t, d, 4, opt, from)
			for _, m := range models {
				text := written(t, m)
				if got, err := ReadModel(bytes.NewReader(text), "shard"); err != nil || !reflect.DeepEqual(got, m) {
					t.Fatalf("read %+v, %v\nwant %+v", got, err, m)
				}
			}
			want := written(t, merged(t, models))
			for range 5 {
				models = append(models[1:], models[0])
				models[0], models[2] = models[2], models[0]
				if got := written(t, merged(t, models)); !bytes.Equal(got, want) {
					t.Fatalf("%s: other bytes for another order", opt.Measure.Name())
				}
			}
			from = merged(t, models)
			if got, err := ReadModel(bytes.NewReader(want), "merged"); err != nil || !reflect.DeepEqual(got, from) {
				t.Fatalf("read %+v, %v\nwant %+v", got, err, from)
			}
			if from.Training.Passes != pass || from.Shard.Pass != pass || from.Data.Rows != 3000 {
				t.Errorf("pass %d: %+v", pass, from.Training)
			}
		}
	}
}

// The state of all shards together is that of all rows: counts, moments and scaling. Weights are
// the means by rows.
func TestMergeIsTheWhole(t *testing.T) {
	d := asData(t, stream(72, 1001))
	models := shardModels(t, d, 3, Options{Measure: measure.QMean{}}, nil)
	m := merged(t, models)
	c, err := d.Classes()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Data.Train, c.part(); !reflect.DeepEqual(got, want) {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	all, err := d.moments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := Config{BiasFeature: 1}
	if err := whole.complete(all, 13, false); err != nil {
		t.Fatal(err)
	}
	scaling := m.scaling()
	for i := range scaling.Center {
		near(t, "centre", scaling.Center[i], whole.Scaling.Center[i], 1e-9*(1+math.Abs(whole.Scaling.Center[i])))
		near(t, "inverse", scaling.Inverse[i]/whole.Scaling.Inverse[i], 1, 1e-9)
	}
	near(t, "mean square", m.Shard.MeanSquare, whole.MeanSquare, 1e-6)
	got := m.Classifier().Models[0]
	for i := range got.Weights {
		sum := 0.0
		for _, s := range models {
			sum += s.Classifier().Models[0].Weights[i] * float64(s.Data.Train.Rows)
		}
		near(t, "weight", got.Weights[i], sum/1001, 1e-12*(1+math.Abs(sum)))
	}
}

// One shard of all rows is a training with one pass, to the last bit.
func TestOneShard(t *testing.T) {
	d := asData(t, stream(73, 2000))
	opt := Options{Measure: measure.HMean{}, Seed: 9, Passes: new(1)}
	r, err := Fit(t.Context(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	m := merged(t, shardModels(t, d, 1, opt, nil))
	if got, want := m.Classifier().Models[0], r.Models[0]; !reflect.DeepEqual(got.Weights, want.Weights) ||
		got.Intercept != want.Intercept {
		t.Errorf("merged %v\nwant   %v", got, want)
	}
}

// Several passes over merged shards reach what one machine reaches.
func TestShardsQuality(t *testing.T) {
	train, test := asData(t, stream(74, 8000)), asData(t, stream(75, 8000))
	for _, m := range []measure.Measure{measure.GMean{}, measure.Min{}, measure.FBeta{B: 1}} {
		opt := Options{Measure: m, Seed: 3, Passes: new(1), Folds: new(1)}
		r, err := Fit(t.Context(), train, opt)
		if err != nil {
			t.Fatal(err)
		}
		value := func(c *Classifier) float64 {
			e, err := Evaluate(t.Context(), test, c)
			if err != nil {
				t.Fatal(err)
			}
			return e.Value(m)
		}
		opt.Folds = nil
		var from *Model
		for range 3 {
			from = merged(t, shardModels(t, train, 8, opt, from))
		}
		if got, want := value(from.Classifier()), value(r.Classifier()); got < want-.02 {
			t.Errorf("%s: 8 shards %v, one pass %v", m.Name(), got, want)
		}
	}
}

// The dual that Merge solves is the smallest αP + βN − Ψ*(α, β) of the region.
func TestSolveDual(t *testing.T) {
	for _, m := range []measure.Concave{measure.GMean{}, measure.HMean{}, measure.QMean{}} {
		for _, rates := range [][2]float64{{.9, .8}, {.5, .95}, {.2, .6}, {.7, .7}} {
			p, n := rates[0], rates[1]
			d := solveDual(m, p, n, DualPoint{})
			value := func(a, b float64) float64 { return a*p + b*n - m.Conjugate(a, b) }
			best := math.Inf(1)
			for a := 0.0; a <= 3; a += .01 {
				for b := 0.0; b <= 3; b += .01 {
					x, y := m.Project(a, b, 50)
					best = min(best, value(x, y))
				}
			}
			near(t, m.Name(), value(d.Alpha, d.Beta), best, 2e-3)
			near(t, m.Name(), value(d.Alpha, d.Beta), m.Of(p, n), 1e-9)
		}
	}
	if d := solveDual(measure.Min{}, .3, .9, DualPoint{.6, .4}); *d != (DualPoint{.6, .4}) {
		t.Errorf("min: %v, want the mean", d)
	}
	for _, p := range []float64{-3, 0} {
		if d := solveDual(measure.GMean{}, p, .5, DualPoint{}); !(d.Alpha > 0 && d.Beta > 0) || d.Alpha > 100 {
			t.Errorf("rewards below 0: %v", d)
		}
	}
}

// Features of files with names are joined by their names, whatever their order.
func TestMergeNames(t *testing.T) {
	dir := t.TempDir()
	load := func(name, text string) Data {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		set, err := dataset.Load(context.Background(), []string{path}, dataset.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = set.Close() })
		class, err := set.Info().Positive("1")
		if err != nil {
			t.Fatal(err)
		}
		return Data{Set: set, Positive: class}
	}
	var a, b strings.Builder
	for i := range 200 {
		y := i % 2
		fmt.Fprintf(&a, "{\"label\":%d,\"x\":%d,\"y\":%d}\n", y, i%7+5*y, i%3)
		fmt.Fprintf(&b, "{\"label\":%d,\"z\":1,\"y\":%d,\"x\":%d}\n", y, (i+1)%3, (i+2)%7+5*y)
	}
	var models []*Model
	for _, d := range []Data{load("a.jsonl", a.String()), load("b.jsonl", b.String())} {
		m, err := FitShard(t.Context(), d, ShardOptions{Fit: Options{Measure: measure.GMean{}}})
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	m := merged(t, models)
	if names := slices.Sorted(slices.Values(m.Schema.Features)); !slices.Equal(names, []string{"x", "y", "z"}) {
		t.Fatalf("features %q", names)
	}
	weight := func(m *Model, name string) float64 {
		i := slices.Index(m.Schema.Features, name)
		if w := m.Classifier().Models[0].Weights; i >= 0 && i < len(w) {
			return w[i]
		}
		return 0
	}
	for _, name := range []string{"x", "y", "z"} {
		near(t, name, weight(m, name), (weight(models[0], name)+weight(models[1], name))/2, 1e-15)
	}
}

// What does not belong together is refused.
func TestMergeRefuses(t *testing.T) {
	d := asData(t, stream(76, 1200))
	opt := Options{Measure: measure.GMean{}, Seed: 1}
	models := shardModels(t, d, 3, opt, nil)
	first := merged(t, models)
	other := opt
	other.Seed = 2
	seeds := shardModels(t, d, 3, other, nil)
	next := shardModels(t, d, 3, opt, first)
	tuned := Options{Measure: measure.FBeta{B: 1}, Seed: 1}
	calibrating := tuned
	calibrating.Calibration = CalibrationPlatt
	calibrated := merged(t, shardModels(t, d, 2, calibrating, merged(t, shardModels(t, d, 2, tuned, nil))))
	for name, c := range map[string]struct {
		models []*Model
		want   string
	}{
		"nothing":     {nil, "there are no shards"},
		"no shard":    {[]*Model{trained(t, opt)}, "not the model of a shard"},
		"merged":      {[]*Model{first}, "a merged model"},
		"twice":       {[]*Model{models[0], models[1], models[1]}, "overlap"},
		"half of it":  {[]*Model{models[0], shardModels(t, d, 6, opt, nil)[3]}, "overlap"},
		"one missing": {models[:2], "no shard has the rows 2/3 of the input sha256:"},
		"seeds": {
			[]*Model{models[0], seeds[1]}, "the options of shard 0/3 and shard 1/3 differ: seed 1 and seed 2",
		},
		"passes":       {[]*Model{models[0], next[1]}, "different models"},
		"other starts": {[]*Model{next[0], shardModels(t, d, 3, opt, merged(t, models[:2]))[1]}, "different models"},
	} {
		if _, err := Merge(c.models, MergeOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		o    ShardOptions
		want string
	}{
		"batch": {
			ShardOptions{Fit: Options{Measure: measure.GMean{}, Algorithm: "plugin"}},
			"no state that can be merged",
		},
		"folds":   {ShardOptions{Fit: Options{Measure: measure.FBeta{B: 1}, Folds: new(3)}}, "folds"},
		"betting": {ShardOptions{Fit: Options{Measure: measure.GMean{}, Config: Config{Steps: StepsBetting}}}, "bets"},
		"from":    {ShardOptions{Fit: opt, From: trained(t, opt)}, "was not merged"},
		"calibrated": {
			ShardOptions{Fit: tuned, From: calibrated},
			"is merged and calibrated, which is final: another pass starts from the merge before",
		},
		"options": {ShardOptions{Fit: other, From: first}, "the options of the model to start from"},
		"measure": {ShardOptions{Fit: Options{Measure: measure.QMean{}, Seed: 1}, From: first}, "the measures"},
	} {
		if _, err := FitShard(t.Context(), d, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	one := asData(t, slices.DeleteFunc(stream(77, 300), func(x Example) bool { return x.Positive }))
	if _, err := FitShard(t.Context(), one, ShardOptions{Fit: opt}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("no positives: %v", err)
	}
	for name, damage := range map[string]func(s *ModelShard){
		"parts":   func(s *ModelShard) { s.Parts = nil },
		"share":   func(s *ModelShard) { s.Parts[0].Share = 4 },
		"start":   func(s *ModelShard) { s.Start = "x" },
		"steps":   func(s *ModelShard) { s.Steps = -1 },
		"moments": func(s *ModelShard) { s.Moments.M2 = s.Moments.M2[1:] },
		"counts":  func(s *ModelShard) { s.Counts.TP = math.NaN() },
	} {
		m := shardModels(t, d, 3, opt, nil)[0]
		damage(m.Shard)
		if m.Validate() == nil {
			t.Errorf("damaged %s are not found", name)
		}
	}
}

// TestStartIsMerged: a pass starts from a merged model with the state that its algorithm needs, and
// from the features of the data.
func TestStartIsMerged(t *testing.T) {
	d := asData(t, stream(71, 3000))
	for _, opt := range []Options{{Measure: measure.GMean{}, Seed: 1}, {Measure: measure.FBeta{B: 1}, Seed: 2}} {
		models := shardModels(t, d, 2, opt, nil)
		start := func(d Data, from *Model) error {
			_, err := FitShard(t.Context(), d, ShardOptions{Fit: opt, From: from})
			return err
		}
		if err := start(d, models[0]); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: from one shard: %v", opt.Measure.Name(), err)
		}
		from := merged(t, models)
		if err := start(d, from); err != nil {
			t.Errorf("%s: from a merged model: %v", opt.Measure.Name(), err)
		}
		other := asData(t, stream(71, 3000))
		other.Set.Info().Schema.Dim++
		if err := start(other, from); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: other features: %v", opt.Measure.Name(), err)
		}
		state := *from.Shard
		state.Dual, state.Level = nil, nil
		from.Shard = &state
		if err := start(d, from); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: without the dual or the level: %v", opt.Measure.Name(), err)
		}
		if err := models[0].Validate(); err != nil {
			t.Error(err)
		}
		if models[0].Shard.Dual = nil; opt.Measure.Name() == "gmean" && models[0].Validate() == nil {
			t.Error("a shard of spade without a dual: no error")
		}
	}
}

// Figures are of rows that no pass has learned from: other shards in a later pass have none.
func TestShardsOfOtherRowsHaveNoFigures(t *testing.T) {
	d := asData(t, stream(74, 3000))
	opt := Options{Measure: measure.FBeta{B: 1}, Seed: 1}
	first := merged(t, shardModels(t, d, 2, opt, nil))
	for n, want := range map[int]bool{2: true, 3: false} {
		models := shardModels(t, d, n, opt, first)
		m := merged(t, models)
		if m.Shard.Apart != want || (m.Figures != nil) != want || (models[0].Figures != nil) != want {
			t.Errorf("%d shards after two: apart is %v, and figures of a shard and of all: %v, %v, want all %v", n,
				m.Shard.Apart, models[0].Figures != nil, m.Figures != nil, want)
		}
	}
}
