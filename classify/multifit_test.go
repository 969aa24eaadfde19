package classify

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/testsize"
)

// multiSet makes a set of rows with the labels that name gives.
func multiSet(t *testing.T, labels []string, n int,
	row func(i int) (index []uint32, value []float32, class int),
) *dataset.Set {
	t.Helper()
	b, err := dataset.NewBuilder(13, labels...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		index, value, class := row(i)
		if err := b.Add(index, value, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// classSet is the problem of threeClasses with named classes, out of order.
func classSet(t *testing.T, seed uint64, n int) MultiData {
	t.Helper()
	rows := threeClasses(seed, n)
	s := multiSet(t, []string{"20", "3", "b"}, n, func(i int) ([]uint32, []float32, int) {
		return rows[i].Index, rows[i].Value, rows[i].Class
	})
	d, err := NewMultiData(s, Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// labelSet is the problem of labelRows with lists of labels in both orders and rows without any.
func labelSet(t *testing.T, seed uint64, n int) MultiData {
	t.Helper()
	names := []string{"1", "2", "3", "1,2", "3,1", "2,3", "1,2,3", "2,1"}
	class := map[string]int{"": dataset.NoClass, "0": 0, "1": 1, "2": 2, "01": 3, "02": 4, "12": 5, "012": 6}
	rows := labelRows(seed, n, 3)
	s := multiSet(t, names, n, func(i int) ([]uint32, []float32, int) {
		key := ""
		for k := range 3 {
			if hasLabel(rows[i].Labels, k) {
				key += string(rune('0' + k))
			}
		}
		c := class[key]
		if c == 3 && i%2 == 0 {
			c = 7
		}
		return rows[i].Index, rows[i].Value, c
	})
	d, err := NewMultiData(s, Multilabel)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMultiData(t *testing.T) {
	d := classSet(t, 1, 500)
	if want := []string{"3", "20", "b"}; !reflect.DeepEqual(d.Labels, want) {
		t.Errorf("labels %q, want %q", d.Labels, want)
	}
	l := labelSet(t, 1, 500)
	if want := []string{"1", "2", "3"}; !reflect.DeepEqual(l.Labels, want) {
		t.Errorf("labels %q, want %q", l.Labels, want)
	}
	counts, seen, none := l.Counts(), make([]LabelCount, 3), 0
	if err := l.read(t.Context(), func(x LabelsExample) error {
		for _, k := range x.Labels {
			seen[k].Rows++
			seen[k].Weight++
		}
		if len(x.Labels) == 0 {
			none++
		}
		return nil
	}); err != nil || !reflect.DeepEqual(counts, seen) || none == 0 {
		t.Errorf("counts %v, seen %v, %d rows without labels, %v", counts, seen, none, err)
	}
	one := multiSet(t, []string{"a", "b"}, 3, func(int) ([]uint32, []float32, int) { return nil, nil, 0 })
	bare := multiSet(t, []string{"a", "b"}, 3, func(i int) ([]uint32, []float32, int) {
		return nil, nil, []int{0, 1, dataset.NoClass}[i]
	})
	list := multiSet(t, []string{"1,,2"}, 1, func(int) ([]uint32, []float32, int) { return nil, nil, 0 })
	for want, f := range map[string]func() (MultiData, error){
		"1 of 3 rows have no label": func() (MultiData, error) { return NewMultiData(bare, Multiclass) },
		`label list "1,,2"`:         func() (MultiData, error) { return NewMultiData(list, Multilabel) },
		`the label "a" does not`:    func() (MultiData, error) { return d.Of(one) },
		"want Multiclass":           func() (MultiData, error) { return NewMultiData(one, 0) },
		"the data have no set":      func() (MultiData, error) { return NewMultiData(nil, Multiclass) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Every algorithm, for every measure that it can train for: well above the constant classifier on
// fresh data, twice the same, and the model file keeps it.
func TestFitMulti(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		task        Task
		train, test MultiData
		measures    map[string]float64
	}{
		{
			Multiclass, classSet(t, 1, testsize.Of(3000, 2000)), classSet(t, 2, 2000),
			map[string]float64{
				"min": 0.5, "gmean": 0.58, "qmean": 0.58, "hmean": 0.58, "macro_recall": 0.6, "macro_f1": 0.49,
				"accuracy": 0.8,
			},
		},
		{
			Multilabel, labelSet(t, 1, testsize.Of(3000, 1500)), labelSet(t, 2, 2000),
			map[string]float64{"macro_f1": 0.55, "micro_f1": 0.55, "macro_jaccard": 0.35},
		},
	} {
		for _, a := range MultiAlgorithms(tc.task) {
			for name, least := range tc.measures {
				m, err := measure.ParseMulti(name, tc.task == Multilabel)
				if err != nil {
					t.Fatal(err)
				}
				if !a.Trains(m) {
					continue
				}
				opt := MultiOptions{Measure: m, Algorithm: a.Name, Fit: Options{Passes: testsize.Of(5, 3), Seed: 3}}
				r, err := FitMulti(t.Context(), tc.train, opt)
				if err != nil {
					t.Fatalf("%s %s: %v", a.Name, name, err)
				}
				c, err := EvaluateMulti(t.Context(), tc.test, &r.Model)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s %s: %.3f", a.Name, name, c.Value(m))
				if (a.Name == "logistic" && name != "accuracy") || a.Name == "sgd-balanced" {
					least = 0 // baselines
				}
				if v := c.Value(m); !(v >= least) {
					t.Errorf("%s %s: %.3f on fresh data, want at least %.2f", a.Name, name, v, least)
				}
				checkMultiFile(t, tc.train, opt, r)
			}
		}
	}
}

// checkMultiFile writes the model and reads it back.
func checkMultiFile(t *testing.T, data MultiData, opt MultiOptions, r *MultiResult) {
	t.Helper()
	m, err := NewMultiModel(r, opt, data)
	if err != nil {
		t.Fatal(err)
	}
	var b, again bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	got, err := ReadClassifier(bytes.NewReader(b.Bytes()), "m.json")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, Classifier(m)) {
		t.Errorf("read\n%+v\nwant\n%+v", got, m)
	}
	if _, err := ReadModel(bytes.NewReader(b.Bytes()), "m.json"); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("read as a model of two classes: %v", err)
	}
	second, err := FitMulti(t.Context(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = NewMultiModel(second, opt, data); err != nil {
		t.Fatal(err)
	}
	if err := WriteModel(&again, m); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("%s: the same fit gave another file, %v", r.Algorithm, err)
	}
}
