package forget

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/noregret/noregret"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// refused fails unless err has the code bad_input.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("%s: %v, want an error of code bad_input", what, err)
	}
}

func memory(t *testing.T, text string, series int) *Memory {
	t.Helper()
	return must(NewMemory(must(Parse(text)), series))
}

// A restart is due when the interval has ended, and what is left is worth the rounds since.
func TestMemoryRestarts(t *testing.T) {
	m := memory(t, "restart=7", 0)
	var due []int
	for round := 1; round <= 30; round++ {
		m.Next()
		if m.Due() {
			due = append(due, round)
		}
		if want := float64(round % 7); m.Worth() != want {
			t.Errorf("round %d: worth %v, want %v", round, m.Worth(), want)
		}
	}
	events, count := m.Events()
	if !slices.Equal(due, []int{7, 14, 21, 28}) || count != 4 ||
		!reflect.DeepEqual(events[3], Event{Round: 28, Cause: "interval"}) {
		t.Errorf("due after %v, %d events %+v", due, count, events)
	}
}

// What is left is worth the sum of the weights of the rounds.
func TestMemoryWorth(t *testing.T) {
	for text, weight := range map[string]func(age int) float64{
		"none":           func(int) float64 { return 1 },
		"detector=cusum": func(int) float64 { return 1 },
		"adaptive":       func(int) float64 { return 1 },
		"memory=9":       func(age int) float64 { return math.Pow(8./9, float64(age)) },
		"rate=0.3":       func(age int) float64 { return math.Pow(.7, float64(age)) },
		"window=12": func(age int) float64 {
			if age < 12 {
				return 1
			}
			return 0
		},
	} {
		m, want := memory(t, text, 1), 0.0
		for round := range 40 {
			m.Next()
			if want += weight(round); math.Abs(m.Worth()-want) > 1e-12*want {
				t.Errorf("%s, round %d: worth %v, want %v", text, round+1, m.Worth(), want)
			}
			if m.Due() {
				t.Errorf("%s: a restart is due", text)
			}
		}
	}
}

// Each series has its detector. An alarm begins all of them again, and the record has the name of
// the detector.
func TestMemoryDetects(t *testing.T) {
	m := memory(t, "detector=cusum:threshold=6", 1)
	if err := m.Grow(3); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	for changed := false; !changed; {
		m.Next()
		rounds++
		for series, z := range []float64{0, .9, 2} {
			found := must(m.Detect(series, z))
			if found && series != 2 {
				t.Errorf("a change of series %d", series)
			}
			changed = changed || found
		}
	}
	if rounds != 4 { // 4·(2 − ½) is 6
		t.Errorf("an alarm after %d rounds, want 4", rounds)
	}
	arms := []int{2}
	m.Alarm(arms, 2)
	arms[0] = 5
	events, _ := m.Events()
	if !reflect.DeepEqual(events, []Event{{Round: 4, Arms: []int{2}, Cause: "cusum", Statistic: 2}}) || m.Worth() != 0 {
		t.Errorf("events %+v, worth %v", events, m.Worth())
	}
	for range 14 { // the sum of 0.9 − ½ begins again: 15 times 0.4 is 6
		if must(m.Detect(1, .9)) {
			t.Fatal("an alarm did not reset the other detectors")
		}
	}
	_, err := m.Detect(0, math.NaN())
	refused(t, "NaN", err)
}

// The last hundred events are kept.
func TestMemoryEvents(t *testing.T) {
	m := memory(t, "memory=5", 0)
	for i := range 130 {
		m.Next()
		m.Note([]int{i}, "unserved", float64(i))
	}
	events, count := m.Events()
	if count != 130 || len(events) != MostEvents || events[0].Round != 31 || events[99].Arms[0] != 129 {
		t.Errorf("%d events, %d kept, from round %d", count, len(events), events[0].Round)
	}
}

// A restored memory continues as the saved one, and a state that does not fit is refused.
func TestMemoryState(t *testing.T) {
	for _, text := range []string{"restart=9", "memory=5", "window=4", "detector=page-hinkley", "adaptive"} {
		m := memory(t, text, 2)
		play := func(m *Memory, from, to int) (alarms []int) {
			for i := from; i < to; i++ {
				m.Next()
				for series := range len(m.triggers) {
					if must(m.Detect(series, float64(i/40%2)*float64(series+1))) {
						m.Alarm([]int{series}, 1)
						alarms = append(alarms, i)
					}
				}
				if m.Due() {
					alarms = append(alarms, i)
				}
			}
			return alarms
		}
		play(m, 0, 50)
		saved := must(m.State())
		other := must(memory(t, text, 2).Restore(saved, 2))
		a, b := play(m, 50, 200), play(other, 50, 200)
		if !slices.Equal(a, b) || !reflect.DeepEqual(must(m.State()), must(other.State())) {
			t.Errorf("%s: forgets after %v, restored after %v", text, a, b)
		}
		if text == "detector=page-hinkley" && len(a) == 0 {
			t.Error("no alarm: the test is too weak")
		}
		for what, damage := range map[string]func(s *MemoryState){
			"rounds":   func(s *MemoryState) { s.Rounds = -1 },
			"since":    func(s *MemoryState) { s.Since = s.Rounds + 1 },
			"count":    func(s *MemoryState) { s.Count = len(s.Events) - 1 },
			"events":   func(s *MemoryState) { s.Events = make([]Event, MostEvents+1); s.Count = 200 },
			"triggers": func(s *MemoryState) { s.Triggers = make([][]byte, 3) },
		} {
			bad := saved
			damage(&bad)
			_, err := m.Restore(bad, 2)
			refused(t, text+": "+what, err)
		}
	}
}

func TestMemoryRefuses(t *testing.T) {
	for _, r := range []Rule{
		{Kind: "other"},
		{Kind: Restart},
		{Kind: None, Rounds: 3},
		{Kind: Discount},
		{Kind: Discount, Rate: math.NaN()},
		{Kind: Detector, Detector: "other"},
		{Kind: Detector, Detector: "cusum:threshold=0"},
		{Kind: Detector, Detector: "adwin:delta=0.1,mode=full"},
		{Kind: Adaptive, Detector: "cusum"},
		{Kind: Restart, Rounds: 5, Mode: Steps, Warm: 1},
	} {
		_, err := NewMemory(r, 1)
		refused(t, r.String(), err)
	}
}

// A window has at least its rounds and at most a 64th more, and those that are left after a cut are
// its own.
func TestSlide(t *testing.T) {
	for _, window := range []int{1, 7, 64, 200} {
		var kept []int
		cuts := 0
		for round := range 1000 {
			var cut bool
			kept, cut = Slide(kept, round, window)
			n := len(kept)
			if n < min(round+1, window) || n > window+window/64 || kept[n-1] != round || kept[0] != round-n+1 {
				t.Fatalf("window of %d, round %d: keeps %d to %d, %d rounds", window, round, kept[0], kept[n-1], n)
			}
			if cut {
				cuts++
				if n != window {
					t.Fatalf("window of %d: a cut leaves %d", window, n)
				}
			}
		}
		if want := (1000 - window) / (window/64 + 1); cuts != want {
			t.Errorf("window of %d: %d cuts, want %d", window, cuts, want)
		}
	}
}

// A discounted mean weighs a number by keep^age.
func TestMean(t *testing.T) {
	var m Mean
	if m.Value() != 0 || m.Check() != nil {
		t.Errorf("of none: %v, %v", m.Value(), m.Check())
	}
	for _, x := range []float64{4, 8, 1} {
		m.Add(x, .5)
	}
	if got := m.Value(); got != (4*.25+8*.5+1)/1.75 {
		t.Errorf("mean %v", got)
	}
	for _, m := range []Mean{{Sum: math.NaN()}, {Sum: math.Inf(1)}, {Weight: -1}, {Weight: math.NaN()}} {
		refused(t, "mean", m.Check())
	}
}
