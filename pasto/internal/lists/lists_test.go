package lists

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sums has a list of each kind.
type sums struct {
	Weight []float64 `of:"arm"`
	Total  []float64 `of:"metric"`
	Mean   []float64 `of:"both,signed"`
	Units  []float64 `of:"both,optional"`
	Pool   []float64 `of:"metric,optional"`
	Gain   []float64 `of:"both,signed,optional"`
	Note   string
}

// TestGrow: new arms have zeros, and optional lists stay away where there are none.
func TestGrow(t *testing.T) {
	a, b := sums{}, sums{Units: make([]float64, 0), Pool: make([]float64, 0), Gain: make([]float64, 0)}
	l := Of{&a, &b}
	l.Grow(1, 2)
	a.Weight[0], a.Mean[1], a.Total[1], b.Units[0] = 3, -4, 5, 6
	l.Grow(3, 2)
	want := Of{
		&sums{Weight: []float64{3, 0, 0}, Total: []float64{0, 5}, Mean: []float64{0, -4, 0, 0, 0, 0}},
		&sums{
			Weight: []float64{0, 0, 0}, Total: []float64{0, 0}, Mean: make([]float64, 6),
			Units: []float64{6, 0, 0, 0, 0, 0}, Pool: []float64{0, 0}, Gain: make([]float64, 6),
		},
	}
	if d := cmp.Diff(want, l); d != "" {
		t.Error(d)
	}
	if l.Give(3, 2); len(a.Units) != 6 || len(a.Pool) != 2 || len(a.Gain) != 6 || b.Units[0] != 6 || a.Weight[0] != 3 {
		t.Errorf("%+v and %+v, want optional lists for both", a, b)
	}
}

// TestFit refuses lists of other lengths, numbers that are not finite, negative ones that must not
// be, and some of the optional lists without the others.
func TestFit(t *testing.T) {
	base := func() *sums {
		return &sums{
			Weight: []float64{1, 2}, Total: []float64{3}, Mean: []float64{-1, 2}, Units: []float64{1, 1},
			Pool: []float64{2}, Gain: []float64{-1, 1},
		}
	}
	without := base()
	without.Units, without.Pool, without.Gain = nil, nil, nil
	if !(Of{base(), without}).Fit(2, 1) {
		t.Error("good lists do not fit")
	}
	for name, f := range map[string]func(s *sums){
		"short":      func(s *sums) { s.Weight = s.Weight[:1] },
		"long":       func(s *sums) { s.Total = append(s.Total, 0) },
		"nil":        func(s *sums) { s.Mean = nil },
		"negative":   func(s *sums) { s.Weight[1] = -1 },
		"NaN":        func(s *sums) { s.Mean[1] = math.NaN() },
		"infinite":   func(s *sums) { s.Pool[0] = math.Inf(1) },
		"no units":   func(s *sums) { s.Units = nil },
		"units only": func(s *sums) { s.Pool = nil },
		"gain":       func(s *sums) { s.Gain[0] = math.NaN() },
	} {
		s := base()
		if f(s); (Of{base(), s}).Fit(2, 1) {
			t.Errorf("%s: the lists fit", name)
		}
	}
}

// A tag that is misspelt is a mistake of the programmer.
func TestTag(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an unknown tag passes")
		}
	}()
	Of{&struct {
		Mean []float64 `of:"arms"`
	}{}}.Grow(1, 1)
}

// TestRows: the numbers of an arm are averaged, pooled and taken back, and those of others stay.
func TestRows(t *testing.T) {
	s := sums{}
	l := Of{&s}
	l.Grow(2, 2)
	Average(1, s.Weight, s.Mean, 1, []float64{1, -2})
	Average(1, s.Weight, s.Mean, 3, []float64{5, 2})
	if !slices.Equal(s.Mean, []float64{0, 0, 4, 1}) || s.Weight[1] != 4 {
		t.Errorf("means %v of weights %v, want 0, 0, 4, 1 of 0 and 4", s.Mean, s.Weight)
	}
	squares := make([]float64, 4)
	Pool(0, squares, s.Total, []float64{1, 2})
	Pool(1, squares, s.Total, []float64{3, 4})
	if Unpool(0, squares, s.Total); !slices.Equal(s.Total, []float64{3, 4}) ||
		!slices.Equal(squares, []float64{0, 0, 3, 4}) {
		t.Errorf("totals %v of %v after arm 0 is gone", s.Total, squares)
	}
	if n := testing.AllocsPerRun(100, func() { l.Clear(0, 2) }); n != 0 {
		t.Errorf("Clear allocates %v times", n)
	}
	if l.Clear(1, 2); s.Weight[1] != 0 || s.Mean[2] != 0 || s.Mean[3] != 0 || s.Total[0] != 3 {
		t.Errorf("%+v after arm 1 is cleared", s)
	}
}
