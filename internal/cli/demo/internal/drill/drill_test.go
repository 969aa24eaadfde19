package drill

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/service"
	"github.com/noregret/noregret/internal/testsize"
)

func TestMain(m *testing.M) {
	clitest.Main(m, map[string]func(){
		"noregret": func() { os.Exit(command.Main(clitest.Commands(service.Commands))) },
	})
}

// TestKills kills the node that leads, or CLUSTER_KILLS nodes (make cluster-soak), and checks what
// counts afterwards, and that the whole history is linearizable: each report counts from one time
// between its calls on, once, and every acknowledgement is after that time.
func TestKills(t *testing.T) {
	kills := 1
	if text := os.Getenv("CLUSTER_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	testsize.NoRace(t) // the nodes would be ten times as slow
	t.Parallel()
	program, err := exec.LookPath("noregret")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(t.Context(), Options{Program: program, Dir: t.TempDir(), Kills: kills, Seed: 1, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Fault(); err != nil {
		t.Error(err)
	}
	history := c.History()
	if r.Kills != kills || r.Acknowledged == 0 || r.Refused+r.Unknown == 0 || r.Repeated == 0 {
		t.Errorf("nothing was tried: %+v", r)
	}
	if visit, ok := linearizable(history, r.InLog); !ok {
		t.Errorf("no order of the calls of visitor %d explains them; in the log: %v: %+v", visit, r.InLog[visit],
			ofVisit(history, visit))
	}
	t.Logf("%d acknowledged, %d counted, %d repeated, %d declined, %d refused, %d unknown in %.0f s", r.Acknowledged,
		r.Counted, r.Repeated, r.Declined, r.Refused, r.Unknown, r.Seconds)
	for _, leads := range []bool{true, false} {
		var gaps, serves []float64
		for _, d := range r.Deaths {
			if d.Leads == leads {
				gaps, serves = append(gaps, d.SecondsWithoutWrites), append(serves, d.SecondsToServe)
			}
		}
		if len(gaps) > 0 {
			slices.Sort(gaps)
			slices.Sort(serves)
			t.Logf("leads %v, %d kills: %.1f s without writes in the median, %.1f at most; %.1f, %.1f to serve",
				leads, len(gaps), gaps[len(gaps)/2], slices.Max(gaps), serves[len(gaps)/2], slices.Max(serves))
		}
	}
}

func ofVisit(history []Call, visit int) (out []Call) {
	for _, c := range history {
		if c.Visit == visit {
			out = append(out, c)
		}
	}
	return out
}

// The model of one visitor's report: what has happened to it.
const (
	nothing = iota
	decided
	counts
)

// read is the call that reads from the log whether the report of a visitor is there.
const read Kind = "read"

type output struct {
	Outcome
	inLog bool // of a read
}

// model says what the calls of one visitor may do and answer.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{nothing} },
	Step: func(state, input, out any) []any {
		s, kind, o := state.(int), input.(Kind), out.(output)
		unsure := o.Outcome == Refused || o.Outcome == Unknown
		switch {
		case kind == read && (s == counts) == o.inLog:
			return []any{s}
		case kind == read:
			return nil
		case unsure && kind == Decide:
			return []any{s} // a decision that nobody has got
		case kind == Decide && s == nothing:
			return []any{decided}
		case kind == Decide || s == nothing:
			return nil
		case kind == Expose || o.Outcome == Declined:
			return []any{s}
		case unsure:
			return []any{s, counts}
		case o.Outcome == Accepted && s == decided, o.Outcome == Duplicate && s == counts:
			return []any{counts}
		}
		return nil
	},
}).ToModel()

// linearizable checks the calls of each visitor, and returns the first one whose are not.
func linearizable(history []Call, inLog map[int]bool) (visit int, ok bool) {
	by := map[int][]porcupine.Operation{}
	for _, c := range history {
		end := int64(c.End)
		if c.Outcome == Refused || c.Outcome == Unknown {
			end = math.MaxInt64 - 2 // what nobody answered may still happen
		}
		by[c.Visit] = append(by[c.Visit], porcupine.Operation{
			ClientId: c.Client, Input: c.Kind, Call: int64(c.Begin), Output: output{Outcome: c.Outcome}, Return: end,
		})
	}
	for visit := range len(by) {
		calls := append(by[visit], porcupine.Operation{
			Input: read, Call: math.MaxInt64 - 1, Output: output{inLog: inLog[visit]}, Return: math.MaxInt64,
		})
		if !porcupine.CheckOperations(model, calls) {
			return visit, false
		}
	}
	return 0, true
}

// TestFaultsAreFound gives the checks histories of services that break what they promise.
func TestFaultsAreFound(t *testing.T) {
	call := func(n int, kind Kind, o Outcome) Call {
		return Call{Kind: kind, Begin: time.Duration(2 * n), End: time.Duration(2*n + 1), Outcome: o}
	}
	begin := []Call{call(0, Decide, Unknown), call(1, Decide, Done), call(2, Expose, Done)}
	for name, c := range map[string]struct {
		calls    []Call
		inLog    bool
		counted  int64
		fault    bool
		explains bool
	}{
		"good":           {[]Call{call(3, Feedback, Accepted)}, true, 1, false, true},
		"lost":           {[]Call{call(3, Feedback, Accepted)}, false, 0, true, false},
		"not counted":    {[]Call{call(3, Feedback, Accepted)}, true, 0, true, true},
		"counted twice":  {[]Call{call(3, Feedback, Accepted)}, true, 2, true, true},
		"accepted twice": {[]Call{call(3, Feedback, Accepted), call(4, Feedback, Accepted)}, true, 1, true, false},
		"duplicate of nothing": {
			[]Call{call(3, Feedback, Duplicate), call(4, Feedback, Accepted)}, true, 1, false, false,
		},
		"stored unsaid":  {[]Call{call(3, Feedback, Refused), call(4, Feedback, Duplicate)}, true, 1, false, true},
		"stored later":   {[]Call{call(3, Feedback, Unknown)}, true, 1, false, true},
		"never stored":   {[]Call{call(3, Feedback, Unknown)}, false, 0, false, true},
		"late after all": {[]Call{call(3, Feedback, Unknown), call(4, Feedback, Declined)}, true, 1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := Result{Counted: c.counted, DigestsEqual: true}
			r.compare(slices.Concat(begin, c.calls), func(int) bool { return c.inLog })
			if got := r.Fault() != nil; got != c.fault {
				t.Errorf("%v: %+v", r.Fault(), r)
			}
			if _, ok := linearizable(slices.Concat(begin, c.calls), map[int]bool{0: c.inLog}); ok != c.explains {
				t.Errorf("explained: %v", ok)
			}
		})
	}
	if (&Result{}).Fault() == nil {
		t.Error("other digests are no fault")
	}
}

// TestLongest checks the time without writes.
func TestLongest(t *testing.T) {
	writes := []time.Duration{1, 2, 10, 11, 20}
	for _, c := range [][3]time.Duration{{3, 11, 8}, {2, 10, 8}, {10, 11, 8}, {11, 40, 20}, {30, 33, 13}, {12, 18, 7}} {
		if got := longest(writes, c[0], c[1]); got != c[2] {
			t.Errorf("from %d to %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
	if got := longest(nil, 3, 5); got != 2 {
		t.Error(got)
	}
}

func ExampleResult_Fault() {
	r := Result{Acknowledged: 100, Counted: 99, Lost: 1, DigestsEqual: true}
	fmt.Println(r.Fault())
	// Output: cluster: 1 reports were acknowledged and do not count
}
