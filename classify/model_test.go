package classify

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
)

// modelData is a small set with one useless feature (3), a constant one (2) and three labels.
func modelData(t testing.TB) Data {
	t.Helper()
	b, err := dataset.NewBuilder(5, "ham", "spam", "eggs")
	if err != nil {
		t.Fatal(err)
	}
	src := random.SplitMix64(7)
	for i := range 600 {
		class := 0
		shift := 0.0
		switch {
		case i%10 == 0:
			class, shift = 1, 1.5
		case i%10 == 1:
			class = 2
		}
		x := []float32{
			float32(src.Float64() + shift), float32(1000 * (src.Float64() + shift)), 3, 0,
			float32(src.Float64()),
		}
		if err := b.Add([]uint32{0, 1, 2, 3, 4}, x, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	return Data{Set: set, Positive: 1}
}

func trained(t testing.TB, opt Options) *Model {
	t.Helper()
	d := modelData(t)
	r, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewModel(r, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func written(t testing.TB, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// For every algorithm a model that is written and read is the same, and the same training gives the
// same bytes.
func TestModelRoundTrip(t *testing.T) {
	for _, a := range Algorithms(Binary) {
		var m measure.Objective = measure.FBeta{B: 1}
		if !a.Trains(m) {
			m = measure.GMean{}
		}
		opt := Options{Algorithm: a.Name, Measure: m, Passes: new(2), Seed: math.MaxUint64}
		want := trained(t, opt)
		text := written(t, want)
		got, err := ReadModel(bytes.NewReader(text), "m.json")
		if err != nil {
			t.Errorf("%s: %v", a.Name, err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read\n%+v\nwant\n%+v", a.Name, got, want)
		}
		if again := written(t, got); !bytes.Equal(again, text) {
			t.Errorf("%s: written again, the bytes differ", a.Name)
		}
		if again := written(t, trained(t, opt)); !bytes.Equal(again, text) {
			t.Errorf("%s: trained again, the bytes differ", a.Name)
		}
	}
}

// The model applies the classifier that Fit returned, to the last bit.
func TestModelLinear(t *testing.T) {
	d := modelData(t)
	opt := Options{Measure: measure.FBeta{B: 1}, Passes: new(3)}
	r, err := Fit(t.Context(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewModel(r, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	if m.Positive() != "spam" || !reflect.DeepEqual(m.Negatives(), []string{"ham", "eggs"}) ||
		m.NegativeName() != "not spam" {
		t.Errorf("labels %+v, negative %q", m.Labels, m.NegativeName())
	}
	lin := m.Classifier().Models[0]
	if lin.Intercept != r.Models[0].Intercept || lin.Threshold != r.Models[0].Threshold {
		t.Errorf("intercept and threshold %v, %v; want %v, %v", lin.Intercept, lin.Threshold, r.Models[0].Intercept,
			r.Models[0].Threshold)
	}
	index, value := []uint32{0, 1, 2, 3, 4, 9}, []float32{0.1, 1234.5, 3, 7, -2, 5}
	if got, want := lin.Score(index, value), r.Models[0].Score(index, value); got != want {
		t.Errorf("score %v, want %v", got, want)
	}
	weights := m.Models[0].Weights
	for j, i := range weights.Index {
		if weights.Value[j] != r.Models[0].Weights[i] || weights.Value[j] == 0 {
			t.Errorf("weight %d is %v, want %v and not 0", i, weights.Value[j], r.Models[0].Weights[i])
		}
	}
	if m.Data.Rows != 600 || m.Data.Train.Labels[0].Rows+m.Data.Holdout.Labels[0].Rows != 60 ||
		m.Data.Digest != d.Set.Info().Digest {
		t.Errorf("data %+v", m.Data)
	}
}

// handMade is a valid model with every kind of extreme number.
func handMade() *Model {
	level := 0.25
	return &Model{
		Measure: "f1", Algorithm: "stamp", Labels: []string{"1", "-1"},
		Models: []ModelLinear{{
			Weights: SparseVector{
				Index: []uint32{0, 3, 4},
				Value: []float64{math.SmallestNonzeroFloat64, -math.MaxFloat64, 0.1},
			},
			Intercept: math.Copysign(0, -1), Threshold: 1.0 / 3,
		}},
		Schema: &dataset.Schema{
			Format: dataset.JSONL, Dim: 5, Label: "label", Weight: "weight",
			Features: []string{"a<b>", "é", `"`, "\u2028", ""},
		},
		Scaling: &ModelScaling{Index: []uint32{1}, Center: []float64{-1e-310}, Inverse: []float64{1e300}},
		Options: ModelOptions{Options: Options{
			Threshold: ThresholdTuned, DualScale: 1, Patience: 5,
			Config: Config{StepScale: 1, Reward: loss.SmoothedHinge{H: 0.5}},
		}},
		Data: ModelData{
			Digest: "sha256:" + strings.Repeat("0a", 32), Rows: math.MaxInt64,
			Train: Part{Labels: make([]LabelCount, 2)}, Holdout: Part{Labels: make([]LabelCount, 2)},
		},
		Training: ModelTraining{Folds: 1, History: []HistoryEntry{
			{Candidate: "epoch 1", Level: &level, StepScale: 1},
		}},
		Warnings: []string{"a & b"},
	}
}

func TestModelExtremeNumbers(t *testing.T) {
	want := handMade()
	got, err := ReadModel(bytes.NewReader(written(t, want)), "m.json")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || !math.Signbit(got.Models[0].Intercept) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// Changing any byte of the file must either be noticed or change nothing: checked for every byte.
func TestModelEveryByteCounts(t *testing.T) {
	t.Parallel()
	want := handMade()
	text := written(t, want)
	kinds := testsize.Of(3, 1) // of changes at a byte
	for i := range text {
		changes := []byte{text[i] ^ 1, text[i] ^ 0x10, ' '}
		for k := range kinds {
			c := changes[(i+k)%3]
			changed := bytes.Clone(text)
			changed[i] = c
			m, err := ReadModel(bytes.NewReader(changed), "m.json")
			if err == nil && !reflect.DeepEqual(m, want) {
				t.Fatalf("byte %d changed from %q to %q is another model, and it was loaded", i, text[i], c)
			}
			if err != nil && noregret.CodeOf(err) != noregret.BadInput {
				t.Fatalf("byte %d: error %v of code %s", i, err, noregret.CodeOf(err))
			}
		}
	}
	for n := 0; n < len(text)-2; n += testsize.Of(1, 7) {
		if _, err := ReadModel(bytes.NewReader(text[:n]), "m.json"); err == nil {
			t.Fatalf("the first %d of %d bytes were loaded", n, len(text))
		}
	}
}

// Every broken rule has its own error, which comes before that of the checksum.
func TestModelRefuses(t *testing.T) {
	text := string(written(t, handMade()))
	for _, tc := range []struct{ old, new, want string }{
		{
			`"format": "noregret-model"`, `"format": "model"`,
			`m.json: format: not a noregret model: want "noregret-model"`,
		},
		{
			`"version": 1`, `"version": 7`,
			`m.json: version: 7: this program reads version 1; train the model again or use the program that made ` +
				`it`,
		},
		{`"version": 1`, `"version": 1.5`, `m.json: version: 1.5: this program reads version 1`},
		{`"measure": "f1"`, `"measure": "auc"`, `m.json: measure: measure "auc" cannot be used`},
		{
			`"algorithm": "stamp"`, `"algorithm": "magic"`,
			`m.json: algorithm: no algorithm for binary data is named "magic"`,
		},
		{`"task": "binary"`, `"task": "unary"`, `m.json: task: want binary, multiclass, multilabel`},
		{`"task": "binary"`, `"task": "multiclass"`, `m.json: measure: no measure of class recalls is named "f1"`},
		{`["1","-1"]`, `["1","1"]`, `m.json: labels[1]: the label "1" appears twice`},
		{`["1","-1"]`, `["1"]`, `m.json: labels: there are 1, want at least 2`},
		{`["1","-1"]`, `["1",null]`, `m.json: labels[1]: must be a string, not null`},
		{`["1","-1"]`, `null`, `m.json: labels: must be a list, not null`},
		{`"models": [`, `"models": [],"x":[`, `m.json: x: unknown field`},
		{`"dim": 5`, `"dim": 6`, `m.json: dim: 6, but schema.dim is 5`},
		{`"index":[0,3,4]`, `"index":[0,4,3]`, `m.json: models[0].weights.index[2]: the index is 3 after 4`},
		{`"index":[0,3,4]`, `"index":[0,3,3]`, `m.json: models[0].weights.index[2]: the index is 3 after 3`},
		{
			`"index":[0,3,4]`, `"index":[0,3,5]`,
			`m.json: models[0].weights.index[2]: the index is 5, want one below the dimension 5`,
		},
		{`"index":[0,3,4]`, `"index":[0,3]`, `m.json: models[0].weights: 2 indices and 3 values`},
		{
			`"index":[0,3,4]`, `"index":[0,3,-4]`,
			`m.json: models[0].weights.index[2]: must be an integer from 0 to 4294967295, not -4`,
		},
		{
			`"index":[0,3,4]`, `"index":[null,3,4]`,
			`m.json: models[0].weights.index[0]: must be an integer from 0 to 4294967295, not null`,
		},
		{`,0.1]}`, `,0]}`, `m.json: models[0].weights.value[2]: the weight is 0, want a finite number that is not 0`},
		{
			`,0.1]}`, `,1e400]}`,
			`m.json: models[0].weights.value[2]: must be a number in the range of float64, not 1e400`,
		},
		{
			`,0.1]}`, `,"NaN"]}`,
			`m.json: models[0].weights.value[2]: must be a number in the range of float64, not "NaN"`,
		},
		{
			`"intercept":-0`, `"intercept":null`,
			`m.json: models[0].intercept: must be a number in the range of float64, not null`,
		},
		{`"intercept":-0,`, ``, `m.json: models[0].intercept: the field is missing`},
		{`"intercept":-0,`, `"intercept":-0,"intercept":1,`, `m.json: models[0].intercept: duplicate field`},
		{`"intercept":-0`, `"Intercept":-0`, `m.json: models[0].Intercept: unknown field`},
		{`"schema": {`, `"schema": {"colour":1,`, `m.json: schema.colour: unknown field`},
		{`"schema": {"format":"jsonl"`, `"schema": {"format":"auto"`, `m.json: schema: format "auto"`},
		{`"inverse":[1e+300]`, `"inverse":[0]`, `m.json: scaling.inverse[0]: centre -1e-310 and inverse 0`},
		{`"seed":0,`, ``, `m.json: options.seed: the field is missing`},
		{`"seed":0,`, `"seed":0,"luck":7,`, `m.json: options.luck: unknown field; known fields: seed, passes, `},
		{`"seed":0,`, `"seed":0,"seed":0,`, `m.json: options.seed: duplicate field`},
		{`"level_positives":0`, `"level_positives":-2`, `m.json: options.level_positives: -2, want at least -1`},
		{`"seed":0`, `"seed":-1`, `m.json: options.seed: must be an integer from 0 to 18446744073709551615, not -1`},
		{
			`"threshold":"tuned"`, `"threshold":"best"`,
			`m.json: options.threshold: "best": want default or zero or tuned`,
		},
		{
			`"reward":"smoothed-hinge:0.5"`, `"reward":"zero-one"`,
			`m.json: options.reward: "zero-one": no reward is named "zero-one"`,
		},
		{
			`"step_scale":1,"dual_scale"`, `"step_scale":0,"dual_scale"`,
			`m.json: options.step_scale: 0, want a finite number above 0`,
		},
		{`"holdout":null`, `"holdout":1`, `m.json: options.holdout: 1, want a share in [0, 1)`},
		{`"digest":"sha256:0a`, `"digest":"sha256:0A`, `m.json: data.digest: `},
		{`"bad_lines":0`, `"bad_lines":-1`, `m.json: data.bad_lines: -1, want a finite number at least 0`},
		{`"chosen":0`, `"chosen":1`, `m.json: training.chosen: 1, want a place in the history of 1`},
		{
			`"level":0.25`, `"level":"x"`,
			`m.json: training.history[0].level: must be a number in the range of float64, not "x"`,
		},
		{`"level":0.25`, `"level":0.5`, `m.json: checksum: does not match the content`},
		{`"warnings": ["a`, `"warnings": ["b`, `m.json: checksum: does not match the content`},
		{`"checksum": "sha256:`, `"checksum": "sha512:`, `m.json: checksum: does not match the content`},
	} {
		if !strings.Contains(text, tc.old) {
			t.Fatalf("the file has no %s:\n%s", tc.old, text)
		}
		_, err := ReadModel(strings.NewReader(strings.Replace(text, tc.old, tc.new, 1)), "m.json")
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s for %s: got %v\nwant %s", tc.new, tc.old, err, tc.want)
		}
	}
	for text, want := range map[string]string{
		"": "not valid JSON", "[]": "not a noregret model", "{}": "not a noregret model",
		text + "{}": "not valid JSON", "null": "not a noregret model",
	} {
		if _, err := ReadModel(strings.NewReader(text), "m.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %s", text, err, want)
		}
	}
}

func TestModelWhiteSpaceIsFree(t *testing.T) {
	text := bytes.ReplaceAll(written(t, handMade()), []byte(`,"`), []byte(",\r\n\t\""))
	if _, err := ReadModel(bytes.NewReader(text), "m.json"); err != nil {
		t.Error(err)
	}
}

func TestNewModelRefuses(t *testing.T) {
	d := modelData(t)
	opt := Options{Algorithm: "sgd-hinge", Measure: measure.FBeta{B: 1}, Passes: new(1)}
	r, err := Fit(t.Context(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		bad := *r
		bad.Models = []Linear{{Weights: []float64{1, v}}}
		if _, err := NewModel(&bad, opt, d); noregret.CodeOf(err) != noregret.Diverged {
			t.Errorf("weight %v: error %v", v, err)
		}
	}
	if _, err := newModel(r, opt, d.Set.Info(), []string{"a\xff", "b"}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a label that is not UTF-8: error %v", err)
	}
	if _, err := NewModel(r, opt, Data{Set: d.Set, Positive: 3}); err == nil {
		t.Error("a positive class beyond the labels was taken")
	}
	undefined := math.NaN()
	vague := *r
	vague.History = []HistoryEntry{{Candidate: "pass 1", Holdout: &undefined}}
	m, err := NewModel(&vague, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.HoldoutValue(); ok || m.Training.History[0].Holdout != nil {
		t.Error("an undefined measure is not null")
	}
}

func TestSaveModelKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	if err := SaveModel(path, handMade()); err != nil {
		t.Fatal(err)
	}
	broken := handMade()
	broken.Models[0].Threshold = math.NaN()
	if err := SaveModel(path, broken); err == nil {
		t.Error("a threshold of NaN was written")
	}
	if m, err := LoadModel(path); err != nil || !reflect.DeepEqual(m, handMade()) {
		t.Errorf("the old file is gone: %v", err)
	}
	if _, err := LoadModel(path + "x"); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("a missing file: %v", err)
	}
}

func TestFeatureName(t *testing.T) {
	m := handMade()
	if got := m.FeatureName(1); got != "é" {
		t.Errorf("named feature: %q", got)
	}
	m.Schema = &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseOne, Dim: 5}
	if got := m.FeatureName(1); got != "2" {
		t.Errorf("counted from 1: %q", got)
	}
	m.Schema = &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseZero, Dim: 5}
	if got := m.FeatureName(1); got != "1" {
		t.Errorf("counted from 0: %q", got)
	}
}

// page returns docs/formats/model.md and its three model files.
func page(t testing.TB) (text string, examples []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/formats/model.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(page), "```json\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		examples = append(examples, example)
	}
	if len(examples) != 3 {
		t.Fatalf("the page has %d examples, want 3", len(examples))
	}
	return string(page), examples
}

// The examples in docs/formats/model.md can be read and are in canonical form, and the page names
// every field and every option.
func TestModelPage(t *testing.T) {
	prose, examples := page(t)
	for _, example := range examples {
		m, err := ReadModel(strings.NewReader(example), "model.md")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(written(t, m)); got != example {
			t.Errorf("the example would be written as\n%s", got)
		}
		prose = strings.ReplaceAll(prose, example, "")
	}
	describes := func(name, of string) {
		if !strings.Contains(prose, "`"+name+"`") {
			t.Errorf("the page does not describe `%s` of %s", name, of)
		}
	}
	for _, m := range new(ModelOptions).members() {
		describes(m.key, "the options")
	}
	var walk func(v reflect.Type)
	walk = func(v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || v == reflect.TypeFor[ModelOptions]() {
			return
		}
		for f := range v.Fields() {
			describes(strictjson.Name(f), v.String())
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[document]())
}

// Every broken rule of a model of several classes has its own error.
func TestModelOfClassesRefuses(t *testing.T) {
	_, examples := page(t)
	text := examples[1]
	for _, tc := range []struct{ old, new, want string }{
		{
			`"task": "multiclass"`, `"task": "multilabel"`,
			`m.json: algorithm: no algorithm for multilabel data is named "spade"`,
		},
		{`"measure": "macro_recall"`, `"measure": "f1"`, `m.json: measure: no measure of class recalls is named "f1"`},
		{`"measure": "macro_recall",`, ``, `m.json: measure: the field is missing`},
		{
			`"algorithm": "spade"`, `"algorithm": "stamp"`,
			`m.json: algorithm: no algorithm for multiclass data is named "stamp"`,
		},
		{`["high","low","mid"]`, `["high"]`, "m.json: labels: there are 1, want at least 2"},
		{`["high","low","mid"]`, `["high","low"]`, "m.json: models: there are 3, want 2 for multiclass data of 2"},
		{
			`"index":[0,1],"value":[-1.14`, `"index":[0,2],"value":[-1.14`,
			"m.json: models[1].weights.index[1]: the index is 2",
		},
		{`"train":{"rows":7,`, `"train":{"rows":-7,`, "m.json: data.train.rows: -7, want"},
		{`"labels":[{"rows":2,"weight":2},`, `"labels":[`, "m.json: data.train.labels: there are 2, want 3"},
		{`"weight":3}`, `"weight":-3}`, "m.json: data.train.labels[1].weight: -3, want"},
	} {
		if !strings.Contains(text, tc.old) {
			t.Fatalf("the example does not contain %s", tc.old)
		}
		_, err := ReadModel(strings.NewReader(strings.Replace(text, tc.old, tc.new, 1)), "m.json")
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s for %s: got %v\nwant %s", tc.new, tc.old, err, tc.want)
		}
	}
}

// FuzzModel reads arbitrary bytes. Nothing panics, and an accepted model is the same after writing
// and reading it again.
func FuzzModel(f *testing.F) {
	f.Add(written(f, handMade()))
	_, examples := page(f)
	for _, example := range examples {
		f.Add([]byte(example))
	}
	f.Add([]byte(`{"format":"noregret-model","version":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadModel(bytes.NewReader(text), "fuzz.json")
		if err != nil {
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Fatalf("error %v of code %s", err, noregret.CodeOf(err))
			}
			return
		}
		again, err := ReadModel(bytes.NewReader(written(t, m)), "fuzz.json")
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("read %+v, then %+v, %v", m, again, err)
		}
	})
}
