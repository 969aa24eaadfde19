package changepoint

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

func newCUSUM(t testing.TB, o CUSUMOptions) *CUSUM {
	t.Helper()
	c, err := NewCUSUM(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newPageHinkley(t testing.TB, o PageHinkleyOptions) *PageHinkley {
	t.Helper()
	p, err := NewPageHinkley(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newADWIN(t testing.TB, o ADWINOptions) *ADWIN {
	t.Helper()
	a, err := NewADWIN(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// detectors returns a constructor for each kind of detector, for numbers in [0, 1].
func detectors(t testing.TB) map[string]func() Detector {
	return map[string]func() Detector{
		"cusum": func() Detector {
			return newCUSUM(t, CUSUMOptions{Mean: .3, Deviation: .1, Drift: .5, Threshold: 8, Clip: 3})
		},
		"page-hinkley": func() Detector {
			return newPageHinkley(t, PageHinkleyOptions{Drift: .05, Threshold: 1, Rounds: 10})
		},
		"adwin": func() Detector { return newADWIN(t, DefaultADWINOptions()) },
		"adwin-hoeffding": func() Detector {
			return newADWIN(t, ADWINOptions{Upper: 1, Delta: .01, Hoeffding: true, Buckets: 3, Part: 1})
		},
		"kswin": func() Detector {
			return newKSWIN(t, KSWINOptions{Alpha: 1e-6, Window: 100, Recent: 30, Seed: 5})
		},
	}
}

func add(t testing.TB, d Detector, x float64) bool {
	t.Helper()
	changed, err := d.Add(x)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// noisy returns a number in [0, 1] with the given mean and a standard deviation of about 0.1.
func noisy(r *random.Source, mean float64) float64 {
	return min(max(mean+.1*r.NormFloat64(), 0), 1)
}

// Each detector has no false alarm in 300 numbers before a change, and detects jumps up and down
// within 60 numbers, also after an earlier alarm.
func TestFindsChanges(t *testing.T) {
	for name, build := range detectors(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				d, r := build(), random.New(seed, "changes")
				for n := range 300 {
					if add(t, d, noisy(r, .3)) {
						t.Fatalf("seed %d: false alarm after %d numbers", seed, n)
					}
				}
				delay := 0
				for !add(t, d, noisy(r, .7)) {
					if delay++; delay > 60 {
						t.Fatalf("seed %d: the rise is not detected", seed)
					}
				}
				d.Reset()
				for range 300 {
					if name != "cusum" { // whose mean is given
						add(t, d, noisy(r, .6))
					}
				}
				delay = 0
				for !add(t, d, noisy(r, .02)) {
					if delay++; delay > 60 {
						t.Fatalf("seed %d: the fall is not detected", seed)
					}
				}
			}
		})
	}
}

// A restored snapshot continues bit for bit; a damaged one, or one of other options or another
// detector, is refused and changes nothing.
func TestSnapshots(t *testing.T) {
	for name, build := range detectors(t) {
		t.Run(name, func(t *testing.T) {
			d, r := build(), random.New(1, "snapshot")
			for n := range 500 {
				add(t, d, noisy(r, .3+.4*float64(n/250)))
			}
			saved, err := d.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			twin := build()
			if err := twin.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			for range 1000 {
				x := noisy(r, .5)
				if add(t, d, x) != add(t, twin, x) {
					t.Fatal("a restored detector detects other changes")
				}
			}
			a, _ := d.MarshalBinary()
			if b, _ := twin.MarshalBinary(); !bytes.Equal(a, b) {
				t.Error("a restored detector continues differently")
			}
			for other, build := range detectors(t) {
				if other == name {
					continue
				}
				if err := build().UnmarshalBinary(saved); noregret.CodeOf(err) != noregret.BadInput {
					t.Errorf("%s: a snapshot of another detector: %v", other, err)
				}
			}
			saved[len(saved)/2] ^= 4
			if err := twin.UnmarshalBinary(saved); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("damaged: %v", err)
			}
			if b, _ := twin.MarshalBinary(); !bytes.Equal(a, b) {
				t.Error("a refused snapshot changed the state")
			}
		})
	}
}

// NaN, infinite and huge numbers are refused and change nothing.
func TestRefusedNumbers(t *testing.T) {
	for name, build := range detectors(t) {
		d := build()
		add(t, d, .5)
		before, _ := d.MarshalBinary()
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e101} {
			if changed, err := d.Add(x); changed || noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: %v was not refused: %v, %v", name, x, changed, err)
			}
		}
		if after, _ := d.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: refusals changed the state", name)
		}
	}
}

// Add allocates nothing once the window has grown.
func TestAllocations(t *testing.T) {
	for name, build := range detectors(t) {
		d, r := build(), random.New(1, "allocations")
		for range 5000 {
			add(t, d, noisy(r, .3))
		}
		if n := testing.AllocsPerRun(1000, func() { add(t, d, noisy(r, .3)) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Options out of range are refused with their name.
func TestRefusedOptions(t *testing.T) {
	nan := math.NaN()
	cusum := func(change func(o *CUSUMOptions)) error {
		o := DefaultCUSUMOptions()
		change(&o)
		_, err := NewCUSUM(o)
		return err
	}
	page := func(change func(o *PageHinkleyOptions)) error {
		o := DefaultPageHinkleyOptions()
		change(&o)
		_, err := NewPageHinkley(o)
		return err
	}
	adwin := func(change func(o *ADWINOptions)) error {
		o := DefaultADWINOptions()
		change(&o)
		_, err := NewADWIN(o)
		return err
	}
	kswin := func(change func(o *KSWINOptions)) error {
		o := DefaultKSWINOptions()
		change(&o)
		_, err := NewKSWIN(o)
		return err
	}
	for place, list := range map[string][]error{
		"mean": {cusum(func(o *CUSUMOptions) { o.Mean = nan })},
		"deviation": {cusum(func(o *CUSUMOptions) {
			o.Deviation = 0
		}), cusum(func(o *CUSUMOptions) { o.Deviation = nan })},
		"drift": {
			cusum(func(o *CUSUMOptions) { o.Drift = -1 }), page(func(o *PageHinkleyOptions) { o.Drift = nan }),
		},
		"threshold": {
			cusum(func(o *CUSUMOptions) { o.Threshold = 0 }), page(func(o *PageHinkleyOptions) { o.Threshold = -1 }),
		},
		"clip":   {cusum(func(o *CUSUMOptions) { o.Clip = .5 }), cusum(func(o *CUSUMOptions) { o.Clip = nan })},
		"rounds": {page(func(o *PageHinkleyOptions) { o.Rounds = 0 })},
		"range": {
			adwin(func(o *ADWINOptions) { o.Upper = 0 }), adwin(func(o *ADWINOptions) { o.Lower = math.Inf(-1) }),
		},
		"delta":   {adwin(func(o *ADWINOptions) { o.Delta = 1 }), adwin(func(o *ADWINOptions) { o.Delta = nan })},
		"buckets": {adwin(func(o *ADWINOptions) { o.Buckets = 1 })},
		"part":    {adwin(func(o *ADWINOptions) { o.Part = 0 })},
		"alpha": {
			kswin(func(o *KSWINOptions) { o.Alpha = 0 }), kswin(func(o *KSWINOptions) { o.Alpha = nan }),
			kswin(func(o *KSWINOptions) { o.Alpha, o.Window, o.Recent = 1e-6, 10, 5 }),
		},
		"window": {kswin(func(o *KSWINOptions) { o.Window = 59 })},
		"recent": {kswin(func(o *KSWINOptions) { o.Recent = 1 }), kswin(func(o *KSWINOptions) { o.Recent = 1e9 })},
	} {
		for _, err := range list {
			if e, ok := err.(*noregret.Error); !ok || e.Code != noregret.BadInput || e.Place != place {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
	for _, d := range []fmt.Stringer{
		newCUSUM(t, DefaultCUSUMOptions()), newPageHinkley(t, DefaultPageHinkleyOptions()),
		newADWIN(t, DefaultADWINOptions()), newKSWIN(t, DefaultKSWINOptions()),
	} {
		if d.String() == "" {
			t.Errorf("%T has no name", d)
		}
	}
}
