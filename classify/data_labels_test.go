package classify

import (
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret/dataset"
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
func classSet(t *testing.T, seed uint64, n int) Data {
	t.Helper()
	rows := threeClasses(seed, n)
	s := multiSet(t, []string{"20", "3", "b"}, n, func(i int) ([]uint32, []float32, int) {
		return rows[i].Index, rows[i].Value, rows[i].Labels[0]
	})
	d, err := NewData(s, Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// builtData returns the rows added to b as data of a task.
func builtData(t *testing.T, b *dataset.Builder, task Task) Data {
	t.Helper()
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewData(set, task)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// labelSet is the problem of labelRows with lists of labels in both orders and rows without any.
func labelSet(t *testing.T, seed uint64, n int) Data {
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
	d, err := NewData(s, Multilabel)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLabelledData(t *testing.T) {
	d := classSet(t, 1, 500)
	if want := []string{"3", "20", "b"}; !reflect.DeepEqual(d.Labels, want) {
		t.Errorf("labels %q, want %q", d.Labels, want)
	}
	l := labelSet(t, 1, 500)
	if want := []string{"1", "2", "3"}; !reflect.DeepEqual(l.Labels, want) {
		t.Errorf("labels %q, want %q", l.Labels, want)
	}
	counts, seen, none := l.part().Labels, make([]LabelCount, 3), 0
	if err := l.read(t.Context(), l.labelled(func(x LabelsExample) error {
		for _, k := range x.Labels {
			seen[k].Rows++
			seen[k].Weight++
		}
		if len(x.Labels) == 0 {
			none++
		}
		return nil
	})); err != nil || !reflect.DeepEqual(counts, seen) || none == 0 {
		t.Errorf("counts %v, seen %v, %d rows without labels, %v", counts, seen, none, err)
	}
	one := multiSet(t, []string{"a", "b"}, 3, func(int) ([]uint32, []float32, int) { return nil, nil, 0 })
	bare := multiSet(t, []string{"a", "b"}, 3, func(i int) ([]uint32, []float32, int) {
		return nil, nil, []int{0, 1, dataset.NoClass}[i]
	})
	list := multiSet(t, []string{"1,,2"}, 1, func(int) ([]uint32, []float32, int) { return nil, nil, 0 })
	for want, f := range map[string]func() (Data, error){
		"1 of 3 rows have no label": func() (Data, error) { return NewData(bare, Multiclass) },
		`label list "1,,2"`:         func() (Data, error) { return NewData(list, Multilabel) },
		`the label "a" does not`:    func() (Data, error) { return d.Of(one) },
		"want Binary, Multiclass":   func() (Data, error) { return NewData(one, 3) },
		"the data have no set":      func() (Data, error) { return NewData(nil, Multiclass) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
