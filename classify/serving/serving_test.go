package serving_test

import (
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
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/serving"
	"github.com/noregret/noregret/dataset"
)

// trained trains a model on 400 rows of a CSV of x and z; label gives a row its label.
func trained(t testing.TB, task classify.Task, measure string, opt classify.Options, label func(x, z float64) string,
) *classify.Model {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("x,z,y\n")
	for range 400 {
		x, z := r.NormFloat64(), r.NormFloat64()
		fmt.Fprintf(&text, "%v,%v,%s\n", float32(x), float32(z), label(x+0.5*r.NormFloat64(), z))
	}
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Load(t.Context(), []string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	data, err := classify.NewData(set, task)
	if err != nil {
		t.Fatal(err)
	}
	if opt.Measure, err = task.Measure(measure); err != nil {
		t.Fatal(err)
	}
	result, err := classify.Fit(t.Context(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := classify.NewModel(result, opt, data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// binary is a calibrated model of two classes.
func binary(t testing.TB) *classify.Model {
	return trained(t, classify.Binary, "f1", classify.Options{
		Algorithm: "logistic", Calibration: classify.CalibrationPlatt,
	}, func(x, _ float64) string {
		if x > 0.8 {
			return "1"
		}
		return "0"
	})
}

// multilabel is a model of the labels p and q.
func multilabel(t testing.TB) *classify.Model {
	opt := classify.Options{Algorithm: "plugin"}
	return trained(t, classify.Multilabel, "micro_f1", opt, func(x, z float64) string {
		switch {
		case x > 0 && z > 0:
			return `"p,q"`
		case x > 0:
			return "p"
		}
		return "q"
	})
}

// rows are rows of the models above.
func rows(seed uint64, n int) *dataset.Block {
	r := rand.New(rand.NewPCG(seed, 3))
	var b dataset.Block
	for range n {
		x, z := float32(r.NormFloat64()), float32(r.NormFloat64())
		b.Append([]uint32{0, 1}, []float32{x, z}, dataset.NoClass, 1)
	}
	return &b
}

func newService(t testing.TB, m *classify.Model, opt serving.Options) *serving.Service {
	t.Helper()
	s, err := serving.New(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func predict(t testing.TB, s *serving.Service, b *dataset.Block) []serving.Prediction {
	t.Helper()
	p, err := s.Predict(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func figures(t testing.TB, s *serving.Service) serving.Figures {
	t.Helper()
	f, err := s.Figures()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPredictions: they are those of the model's classifier, and ids follow from the rows and their
// order alone.
func TestPredictions(t *testing.T) {
	opt := classify.Options{Algorithm: "logistic"}
	three := trained(t, classify.Multiclass, "macro_f1", opt, func(x, z float64) string {
		switch {
		case x > 0.5:
			return "a"
		case z > 0:
			return "b"
		}
		return "c"
	})
	for name, m := range map[string]*classify.Model{
		"two classes": binary(t), "three classes": three, "labels": multilabel(t),
	} {
		t.Run(name, func(t *testing.T) {
			b := rows(5, 50)
			s := newService(t, m, serving.DefaultOptions())
			got := predict(t, s, b)
			c := m.Classifier()
			kinds := map[int]bool{}
			for i, p := range got {
				index, value := b.Row(i)
				raw := c.RawScores(nil, index, value)
				if want := c.Predict(nil, index, value); !slices.Equal(p.Labels, want) {
					t.Errorf("row %d: labels %v, want %v", i, p.Labels, want)
				}
				kinds[len(p.Labels)] = true
				for k := range raw {
					want := raw[k]
					if m.Task != classify.Binary {
						want -= m.Models[k].Threshold
					}
					if p.Scores[k] != want {
						t.Errorf("row %d: scores %v, want %v", i, p.Scores, raw)
					}
				}
				if m.Calibration != nil && !slices.Equal(p.Probabilities, m.Probabilities(nil, raw)) {
					t.Errorf("row %d: probabilities %v", i, p.Probabilities)
				}
			}
			if m.Task != classify.Multiclass && len(kinds) < 2 {
				t.Error("all rows have the same number of labels: this shows little")
			}
			again := newService(t, m, serving.DefaultOptions())
			if p := predict(t, again, b); !reflect.DeepEqual(p, got) {
				t.Error("the same rows have another answer")
			}
			ids := map[string]bool{}
			other := predict(t, newService(t, m, serving.DefaultOptions()), rows(6, 50))
			for _, p := range slices.Concat(got, predict(t, s, b), other) {
				if ids[p.ID] {
					t.Fatalf("the id %s is of two rows", p.ID)
				}
				ids[p.ID] = true
			}
		})
	}
}

// TestLabels: what becomes of labels, and that those that are refused change no figure.
func TestLabels(t *testing.T) {
	s := newService(t, binary(t), serving.DefaultOptions())
	p := predict(t, s, rows(5, 3))
	foreign := predict(t, newService(t, binary(t), serving.DefaultOptions()), rows(6, 3))
	n := 0
	for _, c := range []struct {
		id, label string
		want      serving.Fate
		err       string
		rows      int64
	}{
		{p[1].ID, "2", serving.Rejected, `label: "2" did not occur in training: want one of ["1" "0"]`, 0},
		{p[1].ID, "", serving.Rejected, "label: ", 0},
		{"", "1", serving.Rejected, `id: "": no row has this id`, 0},
		{"0-0000000000000000", "1", serving.Rejected, "id: ", 0},
		{"4-0000000000000000", "1", serving.Rejected, "id: ", 0},
		{"0" + p[1].ID, "1", serving.Rejected, "id: ", 0},
		{strings.ToUpper(p[1].ID) + " ", "1", serving.Rejected, "id: ", 0},
		{foreign[1].ID, "1", serving.Rejected, "id: ", 0},
		{p[1].ID, "1", serving.Accepted, "", 1},
		{p[1].ID, "1", serving.Duplicate, "", 1},
		{p[1].ID, "0", serving.Rejected, `label: "0": the row has another label already`, 1},
		{foreign[1].ID, "1", serving.Rejected, "id: ", 1},
		{p[2].ID, "0", serving.Accepted, "", 2},
		{p[0].ID, "0", serving.Accepted, "", 3},
	} {
		r := s.Label(c.id, c.label)
		text := ""
		if r.Err != nil {
			text = r.Err.Error()
		}
		if r.Fate != c.want || !strings.HasPrefix(text, c.err) || (c.err == "") != (text == "") ||
			r.Err != nil && noregret.CodeOf(r.Err) != noregret.BadInput {
			t.Errorf("%q is %q: %v %v, want %v %s", c.id, c.label, r.Fate, r.Err, c.want, c.err)
		}
		if f := figures(t, s); f.Rows != c.rows || f.WindowRows != int(c.rows) {
			t.Errorf("%q is %q: %d rows, want %d", c.id, c.label, f.Rows, c.rows)
		}
		n++
	}
	counts, waiting := s.Counts()
	want := serving.Counts{Predictions: 3, Accepted: 3, Duplicate: 1, Rejected: 10}
	if counts != want || waiting != 0 {
		t.Errorf("%+v, %d waiting, want %+v", counts, waiting, want)
	}
	labels := newService(t, multilabel(t), serving.DefaultOptions())
	p = predict(t, labels, rows(5, 2))
	for i, c := range []struct {
		id, label string
		want      serving.Fate
	}{{p[0].ID, "q,p", 0}, {p[0].ID, "p,q", serving.Duplicate}, {p[1].ID, "p,r", serving.Rejected}, {p[1].ID, "", 0}} {
		if r := labels.Label(c.id, c.label); r.Fate != c.want {
			t.Errorf("list %d: %+v", i, r)
		}
	}
}

// TestRoom: beyond the bounds the oldest rows are dropped, and their labels are late. A row with a
// label takes no room that one without needs.
func TestRoom(t *testing.T) {
	m := binary(t)
	opt := serving.DefaultOptions()
	opt.MaxWaiting = 10
	s := newService(t, m, opt)
	p := predict(t, s, rows(5, 8))
	if r := s.Label(p[0].ID, "1"); r.Fate != serving.Accepted {
		t.Error(r)
	}
	p = append(p, predict(t, s, rows(6, 5))...)
	counts, waiting := s.Counts()
	if counts.Dropped != 2 || waiting != 10 {
		t.Errorf("%+v, %d waiting, want 2 dropped and 10", counts, waiting)
	}
	for i, want := range []serving.Fate{
		serving.Late, serving.Late, serving.Late, serving.Accepted, serving.Accepted,
	} {
		if r := s.Label(p[i].ID, "1"); r.Fate != want || r.Err != nil {
			t.Errorf("row %d: %+v, want %v", i, r, want)
		}
	}
	if _, waiting = s.Counts(); waiting != 8 || figures(t, s).Rows != 3 {
		t.Errorf("%d waiting, %d rows", waiting, figures(t, s).Rows)
	}
	opt = serving.DefaultOptions()
	opt.MaxBytes = 64 << 10
	s = newService(t, m, opt)
	predict(t, s, rows(5, 1000))
	counts, waiting = s.Counts()
	if waiting < 100 || waiting > 400 || counts.Dropped != uint64(1000-waiting) {
		t.Errorf("%+v, %d waiting in 64 KiB", counts, waiting)
	}
}

// TestFigures compares them with those that are computed from the definitions.
func TestFigures(t *testing.T) {
	opt := serving.DefaultOptions()
	opt.Window = 40
	s := newService(t, binary(t), opt)
	if f := figures(t, s); f != (serving.Figures{}) {
		t.Errorf("%+v before the first label", f)
	}
	b := rows(5, 200)
	p := predict(t, s, b)
	type pair struct {
		p        serving.Prediction
		positive bool
	}
	var seen []pair
	r := rand.New(rand.NewPCG(7, 7))
	for _, i := range r.Perm(len(p))[:150] {
		_, value := b.Row(i)
		positive := float64(value[0])+0.5*r.NormFloat64() > 0.8
		label := map[bool]string{true: "1", false: "0"}[positive]
		if res := s.Label(p[i].ID, label); res.Fate != serving.Accepted {
			t.Fatal(res)
		}
		seen = append(seen, pair{p[i], positive})
		if n := len(seen); n != 1 && n != 39 && n != 41 && n != 150 {
			continue
		}
		f1 := func(of []pair) (f1, exact float64) {
			var tp, wrong, right float64
			for _, x := range of {
				switch predicted := len(x.p.Labels) > 0; {
				case predicted != x.positive:
					wrong++
				case predicted:
					tp++
					right++
				default:
					right++
				}
			}
			return 2 * tp / (2*tp + wrong), right / float64(len(of))
		}
		window := seen[max(0, len(seen)-40):]
		all, _ := f1(seen)
		latest, exact := f1(window)
		var above, pairs, loss, brier float64
		for _, x := range window {
			q := x.p.Probabilities[0]
			if x.positive {
				loss -= math.Log(q)
				brier += (1 - q) * (1 - q)
			} else {
				loss -= math.Log1p(-q)
				brier += q * q
			}
			for _, y := range window {
				if x.positive && !y.positive {
					pairs++
					if x.p.Scores[0] > y.p.Scores[0] {
						above++
					}
				}
			}
		}
		k := float64(len(window))
		f := figures(t, s)
		if f.Rows != int64(len(seen)) || f.WindowRows != len(window) {
			t.Errorf("%d rows, %d in the window, want %d and %d", f.Rows, f.WindowRows, len(seen), len(window))
		}
		for name, c := range map[string]struct {
			got  *float64
			want float64
		}{
			"value": {f.Value, all}, "window": {f.WindowValue, latest}, "exact": {f.Exact, exact},
			"auc": {f.AUC, above / pairs}, "log loss": {f.LogLoss, loss / k}, "brier": {f.Brier, brier / k},
		} {
			if math.IsNaN(c.want) != (c.got == nil) || c.got != nil && math.Abs(*c.got-c.want) > 1e-12 {
				t.Errorf("%s after %d labels: %v, want %v", name, len(seen), c.got, c.want)
			}
		}
	}
}

// TestScoreOutOfRange: a row whose score is no number is refused with its place, and the rows
// before it are not answered either.
func TestScoreOutOfRange(t *testing.T) {
	m := binary(t)
	m.Models[0].Weights.Value[0] = math.MaxFloat64
	s := newService(t, m, serving.DefaultOptions())
	b := rows(5, 2)
	b.Append([]uint32{0}, []float32{1e30}, dataset.NoClass, 1)
	_, err := s.Predict(b)
	if noregret.CodeOf(err) != noregret.BadInput || !strings.HasPrefix(err.Error(), `rows[2]: the score of "1" is +Inf`) {
		t.Error(err)
	}
	if c, waiting := s.Counts(); c != (serving.Counts{}) || waiting != 0 {
		t.Errorf("%+v, %d waiting", c, waiting)
	}
}

func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*serving.Options){
		"window: 0: want":              func(o *serving.Options) { o.Window = 0 },
		"window: 1000001: want":        func(o *serving.Options) { o.Window = 1e6 + 1 },
		"max waiting: 0: want":         func(o *serving.Options) { o.MaxWaiting = 0 },
		"waiting memory: 65535: want":  func(o *serving.Options) { o.MaxBytes = 64<<10 - 1 },
		"max waiting: 100000001: want": func(o *serving.Options) { o.MaxWaiting = 1e8 + 1 },
	} {
		o := serving.DefaultOptions()
		change(&o)
		_, err := serving.New(&classify.Model{}, o)
		if noregret.CodeOf(err) != noregret.Usage || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
