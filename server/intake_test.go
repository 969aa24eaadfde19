package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/testsize"
)

// immediateToy is toy, with exposures that count when the arm is decided.
func immediateToy(openTokens int) string {
	return strings.Replace(toy, "hold_back: 0.1", fmt.Sprintf("exposure: immediate\nopen_tokens: %d", openTokens), 1)
}

// units are n names of units.
func unitNames(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

// problems returns the health problems of an experiment, one a line.
func (w *world) problems(name string) string {
	w.t.Helper()
	r, err := w.server.Report(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(r.Health.Problems, "\n")
}

// TestRefusalsAreSeen checks that items that are not counted show in the problems, the metrics and
// the logs. Before, a full experiment rejected 90 % of its exposures and showed nothing.
func TestRefusalsAreSeen(t *testing.T) {
	w := newWorld(t)
	w.apply(immediateToy(20))
	w.server.Tick()
	ds := w.decide("toy", unitNames("u", 200)...)
	if got := w.problems("toy"); !strings.Contains(got, "refused exposures: 180 of 200 items (90.0 %)") ||
		!strings.Contains(got, "in the last minutes: refused exposures") {
		t.Errorf("the problems are %q", got)
	}
	var items []item
	for _, d := range ds {
		items = append(items, item{d.Token, map[string]float64{"x": 1}})
	}
	if f := w.post("/v1/feedback", items...); f.Accepted != 20 || f.Rejected != 180 {
		t.Errorf("%+v", f)
	}
	_, b := w.do("GET", "/metrics", "")
	for _, want := range []string{
		`noregret_items_total{kind="exposures",status="rejected"} 180`,
		`noregret_exposures_total{experiment="toy",status="rejected"} 180`,
		`noregret_refused_share{experiment="toy",kind="exposures"} 0.9`,
		`noregret_refused_share{experiment="toy",kind="feedback"} 0.9`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	w.wait(watchPeriod)
	w.server.Tick()
	logs := w.logs.String()
	for _, kind := range []string{"exposures", "feedback"} {
		if !strings.Contains(logs, "refused "+kind+": 180 of 200 items") {
			t.Errorf("the log does not say that %s were refused", kind)
		}
	}
	if !strings.Contains(logs, "first_reason=") || !strings.Contains(logs, "20 units wait for feedback already") {
		t.Error("the log does not say why")
	}
	// What is past is no news, but it remains in the books.
	w.wait(2 * watchPeriod)
	w.server.Tick()
	w.wait(2 * watchPeriod)
	w.server.Tick()
	if got := w.problems("toy"); strings.Contains(got, "in the last minutes") ||
		!strings.Contains(got, "refused feedback") {
		t.Errorf("later the problems are %q", got)
	}
}

// TestLateIsSeen checks that late feedback is a problem.
func TestLateIsSeen(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	var items []item
	for _, d := range w.decide("toy", unitNames("u", 50)...) {
		items = append(items, item{d.Token, map[string]float64{"x": 1}})
	}
	w.wait(time.Hour)
	if f := w.post("/v1/feedback", items...); f.Late != 50 {
		t.Errorf("%+v", f)
	}
	if got := w.problems("toy"); !strings.Contains(got, "refused feedback: 50 of 50 items (100.0 %)") ||
		!strings.Contains(got, "50 late") {
		t.Errorf("the problems are %q", got)
	}
}

// TestOpenMemory checks that memory bounds the units that wait, that units which wait already are
// still counted, and that the room comes back when their window closes.
func TestOpenMemory(t *testing.T) {
	testsize.NoRace(t)
	w := newWorld(t, func(c *Config) { c.OpenMemory, c.OpenDisk = 1<<20, 0 })
	w.apply(toy)
	expose := func(prefix string) (f api.FeedbackResult, items []item) {
		for _, d := range w.decide("toy", unitNames(prefix, 1000)...) {
			items = append(items, item{Token: d.Token})
		}
		return w.post("/v1/exposures", items...), items
	}
	f, first := expose("first")
	accepted := f.Accepted
	for batch := range 15 {
		f, _ = expose(fmt.Sprint(batch, "-"))
		accepted += f.Accepted
	}
	d, err := w.server.Definition("toy")
	if err != nil {
		t.Fatal(err)
	}
	// The request that filled the memory was accepted in part. Before, all of its items were.
	if int64(accepted) != 1<<20/experiment.UnitBytes(d) || accepted%1000 == 0 || f.Rejected != 1000 ||
		!strings.Contains(f.Items[0].Error, "1 MiB") {
		t.Errorf("%d units were accepted in 1 MiB, then %d rejected", accepted, f.Rejected)
	}
	if got := w.problems("toy"); !strings.Contains(got, "memory: ") ||
		!strings.Contains(got, "in the last minutes: refused exposures") {
		t.Errorf("the problems are %q", got)
	}
	for i := range first {
		first[i].Metrics = map[string]float64{"x": 1}
	}
	if f := w.post("/v1/feedback", first...); f.Accepted != 1000 {
		t.Errorf("feedback for units that wait: %d accepted", f.Accepted)
	}
	for range 3 { // the round ends, then its window closes
		w.wait(11 * time.Minute)
		w.server.Tick()
	}
	if f, _ := expose("later"); f.Accepted != 1000 {
		t.Errorf("after the window has closed: %d accepted", f.Accepted)
	}
	w.restart()
	if want, _ := w.server.live.state.OpenBytes("toy"); w.server.intake.waiting.Load() != want || want == 0 {
		t.Errorf("after a restart %d bytes wait, want %d", w.server.intake.waiting.Load(), want)
	}
}

// TestOpenShare checks that a token that may only decide cannot take all the room of an experiment.
// Before, the first token left none.
func TestOpenShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte(`tokens:
  - {name: ops, roles: [admin], token: 0123456789abcdef-ops}
  - {name: page, roles: [decide], open_share: 0.5, token: 0123456789abcdef-page}
  - {name: shop, roles: [decide], token: 0123456789abcdef-shop}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens = path })
	w.token = "0123456789abcdef-ops"
	w.apply(immediateToy(100))
	counted := func(token string, n int) (added int64) {
		t.Helper()
		r, err := w.server.Report("toy")
		if err != nil {
			t.Fatal(err)
		}
		before := r.Health.Exposures.Accepted
		w.token = "0123456789abcdef-" + token
		for part := range slices.Chunk(unitNames(token, n), 10) {
			if len(w.decide("toy", part...)) != len(part) {
				t.Error("a decision is missing")
			}
		}
		if r, err = w.server.Report("toy"); err != nil {
			t.Fatal(err)
		}
		return r.Health.Exposures.Accepted - before
	}
	if got := counted("page", 300); got != 50 {
		t.Errorf("%d units of a token with half of the room were counted", got)
	}
	if got := counted("shop", 40); got != 40 {
		t.Errorf("%d of 40 units of another token were counted", got)
	}
	w.wait(11 * time.Minute)
	w.server.Tick()
	w.wait(11 * time.Minute)
	w.server.Tick()
	if got := counted("page", 320); got != 50 {
		t.Errorf("in the next window %d units were counted", got)
	}
}

// TestOpenShareOfRanks checks that ranked units count against the share of their token, too, and
// that those refused are seen.
func TestOpenShareOfRanks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte(`tokens:
  - {name: ops, roles: [admin], token: 0123456789abcdef-ops}
  - {name: page, roles: [decide], open_share: 0.5, token: 0123456789abcdef-page}
  - {name: shop, roles: [decide], token: 0123456789abcdef-shop}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens = path })
	w.token = "0123456789abcdef-ops"
	w.apply(shop + "open_tokens: 100\n")
	c := w.personalizer("shop")
	ranked := func(token string, n int) (created, refused int) {
		t.Helper()
		c.key = "0123456789abcdef-" + token
		body := sampleRank()
		for k := range n {
			body["eventId"] = fmt.Sprint(token, k)
			switch status, b := c.post("/personalizer/v1.0/rank", body); status {
			case 201:
				created++
			case 429:
				refused++
			default:
				t.Fatalf("status %d: %s", status, b)
			}
		}
		return created, refused
	}
	if created, refused := ranked("page", 70); created != 50 || refused != 20 {
		t.Errorf("%d units of a token with half of the room were ranked, %d refused", created, refused)
	}
	if created, _ := ranked("shop", 40); created != 40 {
		t.Errorf("%d of 40 units of another token were ranked", created)
	}
	if got := w.problems("shop"); !strings.Contains(got, "in the last minutes: refused exposures") {
		t.Errorf("the problems are %q", got)
	}
}

// TestTotalMemory reads the machine's memory.
func TestTotalMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       16384 kB\nMemFree: 1 kB\n": 16 << 20, "": 0, "MemTotal: x kB": 0,
		"MemTotal: 9223372036854775807 kB": 0,
	} {
		if got := totalMemory(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if n := machineMemory(); n < 1<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}

// TestMemoryLimits finds the limit of a service that systemd or a container bounds.
func TestMemoryLimits(t *testing.T) {
	for groups, want := range map[string][]string{
		"0::/system.slice/noregret.service\n": {
			"/sys/fs/cgroup/system.slice/noregret.service/memory.max", "/sys/fs/cgroup/system.slice/memory.max",
			"/sys/fs/cgroup/memory.max",
		},
		"0::/\n": {"/sys/fs/cgroup/memory.max"},
		"5:cpu,memory:/a\n4:cpuset:/b\n1:name=systemd:/c\n": {
			"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		},
		"0::/../b": {"/sys/fs/cgroup/b/memory.max", "/sys/fs/cgroup/memory.max"},
		"":         nil, "nonsense": nil,
	} {
		if got := memoryLimits(groups); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}
