package eventlog

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

const killDir = "NOREGRET_EVENTLOG_KILL_DIR"

// TestMain runs the process that TestKill kills, which is the test binary itself.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, appendUntilKilled(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendUntilKilled appends from four goroutines, sometimes takes a snapshot and compacts, and
// prints the positions of each acknowledged append.
func appendUntilKilled(dir string) error {
	s, err := Open(nil, dir, smallOptions())
	if err != nil {
		return err
	}
	ctx := context.Background()
	errs := make(chan error)
	var out sync.Mutex
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				batch := make([]Event, 1+i%3)
				for j := range batch {
					batch[j] = Event{
						Kind: "kill", Time: int64(w),
						Payload: fmt.Appendf(nil, `{"writer":%d,"batch":%d,"n":%d,"of":%d}`, w, i, j, len(batch)),
					}
				}
				first, last, err := s.Append(ctx, batch...)
				if err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Println(first, last, w, i) // one write: the line is whole or missing
				out.Unlock()
				if w == 0 && i%40 == 39 {
					if err := s.SaveSnapshot(ctx, last, []byte(strconv.FormatUint(last, 10))); err != nil {
						errs <- err
						return
					}
					if i%80 == 79 {
						if err := s.Compact(ctx, last-min(last, 200)); err != nil {
							errs <- err
							return
						}
					}
				}
			}
		}()
	}
	return <-errs
}

// acknowledged is an append that the process reported before it was killed.
type acknowledged struct{ first, last, writer, batch uint64 }

// killAfter runs the process on the log in dir and kills it after limit appends.
func killAfter(t *testing.T, dir string, limit int) (acks []acknowledged) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		var a acknowledged
		if n, _ := fmt.Sscan(lines.Text(), &a.first, &a.last, &a.writer, &a.batch); n != 4 {
			break // the last line may be cut
		}
		if acks = append(acks, a); len(acks) == limit {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // the status says that it was killed
	if len(acks) < limit {
		t.Fatalf("the process ended by itself after %d appends", len(acks))
	}
	return acks
}

// wholeBatches reads the log and checks that no batch is torn.
func wholeBatches(t *testing.T, s *Store) map[uint64]string {
	t.Helper()
	records, err := readAll(s)
	if err != nil {
		t.Fatal(err)
	}
	got, open := map[uint64]string{}, 0 // events of the batch that are still missing
	for i, r := range records {
		got[r.Position] = string(r.Payload)
		var w, b, n, of int
		if _, err := fmt.Sscanf(string(r.Payload), `{"writer":%d,"batch":%d,"n":%d,"of":%d}`, &w, &b, &n,
			&of); err != nil {
			t.Fatal(err)
		}
		if open > 0 && n != of-open || open == 0 && n != 0 && i > 0 && records[0].Position == 1 {
			t.Fatalf("position %d is %s: the batch before it is torn", r.Position, r.Payload)
		}
		open = of - n - 1
	}
	if open > 0 {
		t.Fatalf("the last batch lacks %d events", open)
	}
	return got
}

// A process is killed with SIGKILL at random moments, repeatedly on the same log. All acknowledged
// events are at their positions, and no batch is torn.
func TestKill(t *testing.T) {
	kills := 6
	if full() {
		kills = 120
	}
	dir := filepath.Join(t.TempDir(), "log")
	rng := random.New(1, "kill")
	total := 0
	for k := range kills {
		acks := killAfter(t, dir, 1+int(rng.Uint64()%300))
		report, err := Check(t.Context(), nil, dir)
		if err != nil || report.Damaged() {
			t.Fatalf("kill %d: check: %v, %+v", k, err, report)
		}
		s, err := Open(nil, dir, smallOptions())
		if err != nil {
			t.Fatal(err)
		}
		got, first := wholeBatches(t, s), s.Stats().First
		for _, a := range acks {
			for p := max(a.first, first); p <= a.last; p++ {
				want := fmt.Sprintf(`{"writer":%d,"batch":%d,"n":%d,"of":%d}`, a.writer, a.batch, p-a.first,
					a.last-a.first+1)
				if got[p] != want {
					t.Fatalf("kill %d: position %d is %q, acknowledged was %s", k, p, got[p], want)
				}
			}
		}
		snap, err := s.LatestSnapshot(t.Context())
		if err != nil || snap.Position > 0 && string(snap.State) != strconv.FormatUint(snap.Position, 10) {
			t.Fatalf("kill %d: snapshot %d %q, %v", k, snap.Position, snap.State, err)
		}
		total += len(acks)
		closeLog(t, s)
	}
	t.Logf("%d kills, %d appends acknowledged", kills, total)
}
