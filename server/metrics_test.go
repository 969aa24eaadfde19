package server

import (
	"bytes"
	goflag "flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func TestMetricsAreWellFormed(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.decide("toy", "a", "b")
	families, err := w.server.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	_, b := w.do("GET", "/metrics", "")
	for _, want := range []string{
		`noregret_decisions_total{experiment="toy"} 2`, `noregret_policy_version{experiment="toy"} 1`,
		`noregret_log_last_position 1`,
		`noregret_guardrail_state{experiment="toy",guardrail="0",metric="y"} 0`,
		`noregret_http_request_duration_seconds_bucket{route="POST /v1/experiments/{name}/decide"`,
		`noregret_http_requests_total{code="200",route="POST /v1/experiments/{name}/decide"} 1`,
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s is missing", want)
		}
	}
}

// registered returns the service's metrics with their labels and their help, by name, without those
// of Go and of the process.
func registered(t *testing.T, s *Server) map[string][2]string {
	t.Helper()
	ch, out := make(chan *prometheus.Desc), map[string][2]string{}
	go func() {
		defer close(ch)
		s.metrics.registry.Describe(ch)
	}()
	form := regexp.MustCompile(
		`^Desc\{fqName: "(noregret_[a-z_]+)", help: "(.*?)", .*variableLabels: \{([a-z,]*)\}\}$`)
	for d := range ch {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			out[m[1]] = [2]string{m[3], m[2]}
		} else if strings.Contains(d.String(), "noregret") {
			t.Errorf("%v: a metric that cannot be read", d)
		}
	}
	return out
}

//go:generate go test -count=1 -run ^TestMetricsPage$ -args -rewrite

var rewrite = goflag.Bool("rewrite", false, "write the pages that are made from the code anew")

const metricsHead = `# Metrics for Prometheus

<!-- Made from the code by "go generate ./server". Do not edit. -->

` + "`GET /metrics` needs the role `read`" + `. A token that is limited to some experiments gets the
metrics with the label of one of these. While an experiment is private, or was, most metrics move
with the feedback that it gets: a token without the role ` + "`admin`" + ` for all experiments then gets
only those of single experiments, alerts, the clock and failures.

The sizes of the log and of the free disk are looked up every ten seconds at most, in whole MiB:
exact ones would show the sizes of single items of private experiments. There are also the standard
metrics of Go and of the process.

| metric | labels | meaning |
| --- | --- | --- |
`

// TestMetricsPage: docs/reference/metrics.md lists exactly the metrics of the service, with their
// labels. With -rewrite it writes the page.
func TestMetricsPage(t *testing.T) {
	const path = "../docs/reference/metrics.md"
	got, page := registered(t, newWorld(t).server), metricsHead
	for _, name := range slices.Sorted(maps.Keys(got)) {
		page += fmt.Sprintf("| `%s` | %s | %s |\n", name, strings.ReplaceAll(got[name][0], ",", ", "), got[name][1])
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != page {
		t.Errorf("%s is not what the code says, %v: run go generate ./server", path, err)
	}
}

// TestStorageMetrics: the size of the log, the free disk and the age of the snapshot are those of
// the disk, also after a restart. A look waits for its period.
func TestStorageMetrics(t *testing.T) {
	disk := vfs.NewMem()
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 300<<20 + 5, TotalBytes: 1000 << 20})
	w := newWorld(t, func(c *Config) { c.FS = disk })
	value := func(name string) float64 {
		t.Helper()
		_, b := w.do("GET", "/metrics", "")
		m := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindSubmatch(b)
		if m == nil {
			return -1
		}
		v, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if bytes, free := value("noregret_log_bytes"), value("noregret_disk_free_bytes"); bytes != 1<<20 ||
		free != 300<<20 || value("noregret_disk_bytes") != 1000<<20 {
		t.Errorf("%v bytes of log, %v free", bytes, free)
	}
	if age := value("noregret_log_snapshot_age_seconds"); age != -1 {
		t.Errorf("an age of %v without a snapshot", age)
	}
	w.apply(toy)
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 200<<20 + 7, TotalBytes: 1000 << 20})
	w.server.Tick()
	if free := value("noregret_disk_free_bytes"); free != 300<<20 {
		t.Errorf("%v bytes free at once, want 300 MiB until the period has passed", free)
	}
	w.wait(storagePeriod)
	if err := w.server.log.SaveSnapshot(t.Context(), 1, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	w.server.Tick()
	if free, bytes := value("noregret_disk_free_bytes"), value("noregret_log_bytes"); free != 200<<20 ||
		bytes != 2<<20 {
		t.Errorf("%v bytes free, %v of log", free, bytes)
	}
	w.apply(strings.Replace(toy, "name: toy", "name: three", 1))
	w.restart() // which saves a snapshot
	w.wait(90 * time.Second)
	// The time of the file is the machine's, the world's another: the age begins at the start.
	if age := value("noregret_log_snapshot_age_seconds"); age < 90 {
		t.Errorf("an age of %v s 90 s after the restart", age)
	}
	w.apply(strings.Replace(toy, "name: toy", "name: two", 1))
	frozen, err := w.server.live.state.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.writer.snapshots.save(frozen); err != nil {
		t.Fatal(err)
	}
	w.wait(7 * time.Second)
	if age := value("noregret_log_snapshot_age_seconds"); age != 7 {
		t.Errorf("an age of %v s, want 7", age)
	}
}
