package scenario

import (
	"math"
	"testing"
)

// TestLists: the means are those of the users, and the lists agree with what scenario ranking
// measures on the same events.
func TestLists(t *testing.T) {
	settings := []float64{0, 1.0 / 99, 50.0 / 99, 1}
	l, err := NewLists(120, 200, settings, 3)
	if err != nil {
		t.Fatal(err)
	}
	events, genres := generateRatings(120, 200, 3)
	r := index(core(events), genres, 3)
	x, err := rank(r)
	if err != nil {
		t.Fatal(err)
	}
	if l.Users() != r.users || l.Items() != r.items {
		t.Errorf("%d users and %d items, want %d and %d", l.Users(), l.Items(), r.users, r.items)
	}
	for i, a := range []int{0, 1, 50, 99} {
		var sum Shown
		for u := range l.Users() {
			s := l.Show(u, i)
			if want := x.values[(u*alphas+a)*2]; s.Recall != want {
				t.Fatalf("user %d at %d/99: recall %v, want %v", u, a, s.Recall, want)
			}
			if s.Wanted != float64(r.genreTest[u]) || s.Found > s.Wanted || s.Found > topItems {
				t.Fatalf("user %d: %+v", u, s)
			}
			sum.Recall += s.Recall
			sum.Found += s.Found
			sum.Wanted += s.Wanted
		}
		n := float64(l.Users())
		if m := l.Mean(i); math.Abs(m.Recall-x.means.Arm(a)[0]) > 1e-12 || m.Found != sum.Found/n ||
			m.Wanted != sum.Wanted/n {
			t.Errorf("%+v, want %+v", m, sum)
		}
	}
	for _, bad := range []func() (*Lists, error){
		func() (*Lists, error) { return NewLists(49, 600, settings, 1) },
		func() (*Lists, error) { return NewLists(300, 99, settings, 1) },
		func() (*Lists, error) { return NewLists(300, 600, []float64{math.NaN()}, 1) },
		func() (*Lists, error) { return NewLists(300, 600, []float64{1.1}, 1) },
	} {
		if _, err := bad(); err == nil {
			t.Error("a bad argument was accepted")
		}
	}
}
