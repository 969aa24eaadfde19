package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// privateShort is an experiment whose releases are used up within a short run.
const privateShort = `name: secret
arms: [{name: control, value: 0}, {name: gain, value: 1}]
control: {arm: control, share: 0.3}
metrics: [{name: buy, range: [0, 1], default: 0}]
objective: {goals: [{metric: buy}]}
round: {length: 1m, min_units: 10}
attribution_window: 90s
privacy: {epsilon: 1, delta: 1e-6, unit_contribution: 2, rounds: 3}
`

// deathbed is where the process dies: before or after a durable write. From then on nothing becomes
// durable.
type deathbed struct {
	mu sync.Mutex
	death
	stores, logs int // writes of the ledger and the journal, and of the log
	dead         bool
	last         string // what it died at
}

// death is a durable write of a process: of its ledger and journal (stores), or of its log, whose
// number varies a little with what runs beside it. The zero death never comes.
type death struct {
	store, log int
	after      bool
}

var errDead = errors.New("the process is dead")

// String implements errorfs.Injector.
func (d *deathbed) String() string { return "deathbed" }

// begin counts a durable write. It returns errDead if the process is dead or dies before it, and
// whether the process dies right after it.
func (d *deathbed) begin(what string, writes *int, at int) (dies bool, err error) {
	if d.dead {
		return false, errDead
	}
	*writes++
	if d.dead = *writes == at; !d.dead {
		return false, nil
	}
	if d.last = "after " + what; !d.after {
		d.last = "before " + what
		return false, errDead
	}
	return true, nil
}

// write makes a write of the ledger or the journal. The process that dies after it does not get its
// answer.
func (d *deathbed) write(what string, do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dies, err := d.begin(what, &d.stores, d.store)
	if err != nil {
		return err
	}
	if err = do(); dies {
		err = errDead
	}
	return err
}

func (d *deathbed) died() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// cause says what the process died at.
func (d *deathbed) cause() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// MaybeError implements errorfs.Injector. Of the log it counts what makes data durable.
func (d *deathbed) MaybeError(op errorfs.Op) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpRename:
		_, err = d.begin("a write of the log", &d.logs, d.log)
		return err
	}
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && d.dead {
		return errDead
	}
	return nil
}

// dyingStore is a store of a process that dies.
type dyingStore struct {
	privacyStore
	*deathbed
}

func (s *dyingStore) CompareAndSwap(epoch uint64, document []byte) error {
	return s.write("a store's write", func() error { return s.privacyStore.CompareAndSwap(epoch, document) })
}

func (s *dyingStore) Erase() error { return s.write("the erasure", s.privacyStore.Erase) }

// privateLives are the lives of a service with a private experiment, each on the disk of the one
// before. The noise is the system's: a release that is drawn twice differs.
type privateLives struct {
	t      *testing.T
	data   string
	mem    *vfs.MemFS
	now    atomic.Int64
	lives  int
	server *Server
	bed    *deathbed
	seen   map[int64][]float64 // releases by step: what somebody saw, or what was durable
	steps  int64               // the most that the ledger has committed
	tokens []string            // of the round that runs
}

// live starts the service, which dies as given.
func (l *privateLives) live(end death) bool {
	l.lives++
	l.bed = &deathbed{death: end}
	c := DefaultConfig(l.data)
	c.FS, c.Tick, c.SnapshotEvery = errorfs.Wrap(l.mem, l.bed), time.Hour, 6
	c.Now = func() time.Time { return time.Unix(0, l.now.Load()) }
	c.Logger = slog.New(slog.DiscardHandler)
	bed := l.bed
	c.privacyStore = func(dir string) (privacyStore, error) {
		s, err := dp.OpenFileStore(dir)
		return &dyingStore{s, bed}, err
	}
	s, err := New(c)
	if err != nil {
		if !l.bed.died() {
			l.t.Fatalf("life %d does not begin: %v", l.lives, err)
		}
		return false
	}
	l.server = s
	return true
}

// end ends a life, reads what is durable, and gives the next life what the disk holds: data that
// were not flushed are lost, or kept, or some of them.
func (l *privateLives) end(unsynced int) {
	l.t.Helper()
	if l.server != nil {
		_ = l.server.Close() // a dead process cannot end well
		l.server = nil
	}
	rng := random.New(uint64(l.lives), "disk").Rand
	l.mem = l.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng})
	l.disk()
}

// disk checks the ledger and notes what the journal holds.
func (l *privateLives) disk() (state dp.RunState) {
	l.t.Helper()
	ledger := openedLedger(l.t, l.data)
	names, err := ledger.Accounts()
	if err != nil {
		l.t.Fatal(err)
	}
	if len(names) > 0 {
		_, runs, err := ledger.Account("secret")
		if err != nil || len(runs) > 1 {
			l.t.Fatalf("%+v, %v", runs, err)
		}
		if len(runs) == 1 {
			spent, err := ledger.Spent("secret", 1e-6)
			if err != nil || spent > 1 || spent < 0.99 {
				l.t.Fatalf("life %d: the ledger has ε = %v, %v: want 1 from the beginning", l.lives, spent, err)
			}
			if runs[0].Steps < l.steps {
				l.t.Fatalf("life %d: the ledger has %d steps, it had %d", l.lives, runs[0].Steps, l.steps)
			}
			l.steps, state = runs[0].Steps, runs[0].State
		}
	}
	if state == "" && (l.steps > 0 || len(l.seen) > 0) {
		l.t.Fatalf("life %d: the ledger has lost the run", l.lives)
	}
	if last, any := journalOf(l.t, l.data); any {
		l.note(last.Steps, fromBytes(last.Release[:len(last.Release)-32]), "the journal")
	}
	return state
}

// openedLedger opens the ledger of a data directory as another process does.
func openedLedger(t *testing.T, data string) *dp.Ledger {
	t.Helper()
	store, err := dp.OpenFileStore(PrivacyLedgerDir(data))
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := dp.OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

// journalOf returns the newest checkpoint of the experiment, if there is one.
func journalOf(t *testing.T, data string) (dp.Checkpoint, bool) {
	t.Helper()
	dir := privacyRunsDir(data, "secret")
	if _, err := os.Stat(dir); err != nil {
		return dp.Checkpoint{}, false
	}
	store, err := dp.OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	j, err := dp.OpenJournal(store, "secret")
	if err != nil {
		t.Fatal(err)
	}
	return j.Last()
}

// note records a release, and that it is the only one of its step.
func (l *privateLives) note(step int64, sums []float64, where string) {
	l.t.Helper()
	if old, ok := l.seen[step]; ok && !slices.Equal(old, sums) {
		l.t.Fatalf("life %d (%s): %s has %v as step %d, it was %v", l.lives, l.bed.cause(), where, sums, step, old)
	}
	l.seen[step] = sums
}

// look notes the releases that somebody can see now, in the export and the report. Each must be in
// the ledger.
func (l *privateLives) look() {
	l.t.Helper()
	released := int64(0)
	events, ok := exported(l.t, l.server)
	if !ok && l.bed.died() {
		return // between the answer and this
	}
	for _, e := range events {
		var p experiment.ReleaseEvent
		if e.Kind != experiment.KindRelease || json.Unmarshal(e.Payload, &p) != nil || p.Ended != "" {
			continue
		}
		l.note(p.Step, p.Sums, "the export")
		if released++; p.Step != released {
			l.t.Fatalf("step %d follows %d releases", p.Step, released-1)
		}
	}
	_, runs, err := openedLedger(l.t, l.data).Account("secret")
	if released > 0 && (err != nil || runs[0].Steps < released) {
		l.t.Fatalf("step %d is out, the ledger has %+v, %v", released, runs, err)
	}
	r, err := l.server.Report("secret")
	if !ok || err == nil && r.Privacy.Released != released {
		l.t.Fatalf("the report has %d releases, the export %d", r.Privacy.Released, released)
	}
}

// exported returns the export of the log, and whether it is complete.
func exported(t testing.TB, s *Server) (out []exportedEvent, ok bool) {
	t.Helper()
	status, body := request(s, "GET", "/v1/export", "")
	if status != 200 {
		return nil, false
	}
	for line := range strings.Lines(string(body)) {
		var e exportedEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, e)
	}
	return out, true
}

// exportedEvent is a line of an export.
type exportedEvent struct {
	Position uint64          `json:"position"`
	Time     int64           `json:"time"`
	Kind     string          `json:"kind"`
	Payload  json.RawMessage `json:"payload"`
}

// request sends a request to a service without a network.
func request(s *Server, method, path, body string) (status int, answer []byte) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPut {
		r.Header.Set("Content-Type", "application/yaml")
	}
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			status = 0 // the answer has broken off
		}
	}()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// send sends a request and requires success while the process is alive.
func (l *privateLives) send(method, path, body string) []byte {
	l.t.Helper()
	status, b := request(l.server, method, path, body)
	if status/100 != 2 && !l.bed.died() {
		l.t.Fatalf("life %d: %s %s: status %d: %s", l.lives, method, path, status, b)
	}
	return b
}

// items is the body of a request with the tokens of the round.
func (l *privateLives) items(metrics map[string]float64) string {
	var out struct {
		Items []item `json:"items"`
	}
	for _, t := range l.tokens {
		out.Items = append(out.Items, item{Token: t, Metrics: metrics})
	}
	b, _ := json.Marshal(out)
	return string(b)
}

// script is the run: steps that a client repeats until they are answered.
func (l *privateLives) script() (steps []func()) {
	steps = append(steps, func() { l.send("PUT", "/v1/experiments/secret", privateShort) })
	for round := range 4 {
		wait := true
		steps = append(steps, func() {
			in, _ := json.Marshal(map[string]any{"units": unitNames(fmt.Sprint("r", round, "-"), 60)})
			var out struct{ Decisions []decision }
			if b := l.send("POST", "/v1/experiments/secret/decide", string(in)); json.Unmarshal(b, &out) == nil &&
				len(out.Decisions) == 60 {
				l.tokens = nil
				for _, d := range out.Decisions {
					l.tokens = append(l.tokens, d.Token)
				}
			}
		}, func() { l.send("POST", "/v1/exposures", l.items(nil)) },
			func() { l.send("POST", "/v1/feedback", l.items(map[string]float64{"buy": 1})) },
			func() {
				if wait {
					l.now.Add(int64(time.Minute))
					wait = false
				}
				l.server.Tick()
			})
	}
	for range 3 {
		wait := true
		steps = append(steps, func() {
			if wait {
				l.now.Add(int64(20 * time.Minute))
				wait = false
			}
			l.server.Tick()
		})
	}
	return append(steps, func() { l.server.Tick() })
}

// run plays the script from life to life. The first one dies as given, and if twice the second one,
// too. It returns the first one's end.
func (l *privateLives) run(end death, twice bool, unsynced int) (first *deathbed) {
	l.t.Helper()
	script, next := l.script(), 0
	for next < len(script) {
		if l.lives == 1 && !twice || l.lives == 2 {
			end = death{}
		}
		if l.live(end) {
			for next < len(script) && !l.bed.died() {
				script[next]()
				if l.bed.died() {
					break
				}
				next++
				l.look()
			}
		}
		if l.lives == 1 {
			first = l.bed
		}
		if next < len(script) {
			if !l.bed.died() || l.lives > 3 {
				l.t.Fatalf("life %d has ended at step %d", l.lives, next)
			}
			l.end(unsynced)
		}
	}
	return first
}

// over checks the end of a run: three releases, of all decisions, close to the truth; the ledger
// closed and the noise erased.
func (l *privateLives) over() {
	l.t.Helper()
	r, err := l.server.Report("secret")
	if err != nil {
		l.t.Fatal(err)
	}
	p := r.Privacy
	n, sum := int64(0), 0.0
	for arm, c := range p.Counts {
		n += c
		sum += p.Sums[arm]["buy"]
	}
	if p.Released != 3 || len(l.seen) != 3 || n != 180 || math.Abs(sum-180) > 20*p.Noise["buy"] || p.Ended == "" {
		l.t.Fatalf("%d releases (%d seen) of %d decisions, sum %v with noise %v: want 3 of 180; ended: %s", p.Released,
			len(l.seen), n, sum, p.Noise["buy"], p.Ended)
	}
	if _, any := journalOf(l.t, l.data); any {
		l.t.Error("the journal of a run that is over is not erased")
	}
	if state := l.disk(); state != dp.Closed || l.steps != 3 {
		l.t.Errorf("the run is %s after %d steps: want closed after 3", state, l.steps)
	}
	if err := l.server.Close(); err != nil && !l.bed.died() {
		l.t.Error(err)
	}
}

func newPrivateLives(t *testing.T) *privateLives {
	l := &privateLives{t: t, data: t.TempDir(), mem: vfs.NewCrashableMem(), seen: map[int64][]float64{}}
	l.now.Store(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return l
}

// TestPrivateDeath kills the service before and after each of its durable writes: those of the
// ledger, of the journal and of the log. The next life goes on from the disk. No step has two
// releases, whoever saw them and wherever they were durable; no release is out before the ledger
// has its step; the ledger has the whole charge from the beginning, and never more.
func TestPrivateDeath(t *testing.T) {
	testsize.NoRace(t)
	l := newPrivateLives(t)
	all := l.run(death{}, false, 0)
	l.over()
	if all.stores < 2+2*3+2 || all.logs < 20 {
		t.Fatalf("%d durable writes of the ledger and the journal, %d of the log", all.stores, all.logs)
	}
	var deaths []death
	for at := 1; at <= all.stores; at++ {
		deaths = append(deaths, death{store: at}, death{store: at, after: true})
	}
	for at := 1; at <= all.logs; at += testsize.Of(1, 6) {
		deaths = append(deaths, death{log: at}, death{log: at, after: true})
	}
	died := map[string]int{}
	for i, end := range deaths {
		l := newPrivateLives(t)
		first := l.run(end, i/2%3 == 0, 100*(i/2%2))
		l.over()
		died[first.cause()]++
	}
	t.Logf("%d durable writes of the ledger and the journal, %d of the log; deaths: %v", all.stores, all.logs, died)
	for _, what := range []string{
		"before a store's write", "after a store's write", "before a write of the log", "before the erasure",
		"after the erasure",
	} {
		if died[what] == 0 {
			t.Errorf("no death %s", what)
		}
	}
}
