package experiment

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/pasto/confident"
)

// childVariable is the environment variable that makes the test binary a child process of
// TestProcessHistory.
const childVariable = "NOREGRET_HISTORY_CHILD"

func TestMain(m *testing.M) {
	if seed, ok := os.LookupEnv(childVariable); ok {
		if err := historyChild(seed, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestProcessHistory folds the same events in several processes, each with different digests,
// snapshots, restores and unrelated learners in between, and compares the digests. The history of a
// process must not show in the bytes of a state.
func TestProcessHistory(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	events := scenarioEvents(t)
	processes, least := testsize.Of(5, 2), testsize.Of(20, 2)
	if testsize.Short() {
		events = events[:len(events)/4]
	}
	input, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	digests, compared := map[int]string{}, 0
	for seed := range processes {
		var out, stderr bytes.Buffer
		c := exec.Command(self)
		c.Env = append(os.Environ(), childVariable+"="+strconv.Itoa(seed))
		c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(input), &out, &stderr
		if err := c.Run(); err != nil {
			t.Fatalf("process %d: %v\n%s", seed, err, &stderr)
		}
		for line := range strings.Lines(out.String()) {
			var event int
			var digest string
			if _, err := fmt.Sscan(line, &event, &digest); err != nil {
				t.Fatalf("process %d: %q: %v", seed, line, err)
			}
			if want, ok := digests[event]; !ok {
				digests[event] = digest
			} else if compared++; digest != want {
				t.Errorf("process %d: the digest after event %d is %.12s, %.12s in another process",
					seed, event, digest, want)
			}
		}
	}
	if compared < least {
		t.Errorf("only %d digests were compared", compared)
	}
}

// scenarioEvents merges the events of all scenarios into one log, a block of each in turn, so that
// experiments are not created in the order of their names.
func scenarioEvents(t *testing.T) []Event {
	files, err := filepath.Glob("testdata/scenario/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	s := newScenario(t)
	type script struct {
		name   string
		blocks []string
	}
	var scripts []script
	for i := len(files) - 1; i >= 0; i -= testsize.Of(1, 2) {
		text, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		var one script
		for _, block := range strings.Split(string(text), "\n\n") {
			if command, _, ok := strings.Cut(block, "\n----"); ok && !strings.HasPrefix(command, "report") {
				one.blocks = append(one.blocks, command)
			}
		}
		scripts = append(scripts, one)
	}
	for left := true; left; {
		left = false
		for i := range scripts {
			if one := &scripts[i]; len(one.blocks) > 0 {
				s.name = one.name
				s.run(one.blocks[0])
				one.name, one.blocks, left = s.name, one.blocks[1:], true
			}
		}
	}
	return s.events
}

// historyChild folds the events of r and writes the digests of some positions to w. The seed
// decides which positions, and what else the process does.
func historyChild(seed string, r io.Reader, w io.Writer) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	var events []Event
	if err := json.NewDecoder(r).Decode(&events); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(n, 0))
	state := NewState()
	for i, e := range events {
		if _, err := state.Apply(uint64(i+1), e); err != nil {
			return err
		}
		if i == len(events)-1 || random.IntN(5) == 0 {
			digest, err := state.Digest()
			if err != nil {
				return err
			}
			fmt.Fprintln(w, i+1, digest)
		}
		switch random.IntN(8) {
		case 0:
			b, err := state.MarshalBinary()
			if err != nil {
				return err
			}
			state = NewState()
			if err := state.UnmarshalBinary(b); err != nil {
				return err
			}
		case 1:
			if err := saveUnrelated(random.IntN(4)); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveUnrelated takes a snapshot of a learner that has nothing to do with the experiments.
func saveUnrelated(which int) error {
	goals, err := pasto.NewGoals([]pasto.Metric{{Name: "m", Weight: 1}}, 0)
	if err != nil {
		return err
	}
	var l encoding.BinaryMarshaler
	switch which {
	case 0:
		l, err = confident.New(goals, 3, confident.DefaultOptions())
	case 1:
		l, err = ascent.New(goals, 3, ascent.PracticalOptions(3))
	case 2:
		o := box.DefaultOptions(1)
		o.Nodes, o.Every = 3, 2
		l, err = box.New(goals, []float64{0}, []float64{1}, o)
	default:
		var interval *convex.Box
		if interval, err = convex.NewBox([]float64{0}, []float64{1}); err == nil {
			l, err = oco.NewAdaGrad(interval, nil)
		}
	}
	if err == nil {
		_, err = l.MarshalBinary()
	}
	return err
}
