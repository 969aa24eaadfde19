package server

import (
	"bytes"
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

// registered returns the service's metrics with their labels, by name, without those of Go and of
// the process.
func registered(t *testing.T, s *Server) map[string]string {
	t.Helper()
	ch, out := make(chan *prometheus.Desc), map[string]string{}
	go func() {
		defer close(ch)
		s.metrics.registry.Describe(ch)
	}()
	form := regexp.MustCompile(`^Desc\{fqName: "(noregret_[a-z_]+)".* variableLabels: \{([a-z,]*)\}\}$`)
	for d := range ch {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			out[m[1]] = m[2]
		} else if strings.Contains(d.String(), "noregret") {
			t.Errorf("%v: a metric that cannot be read", d)
		}
	}
	return out
}

// TestMetricsAreDocumented: docs/service.md lists exactly the metrics of the service, with their
// labels.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## Metrics for Prometheus\n")
	if !ok {
		t.Fatal("docs/service.md has no section of metrics")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]string{}
	listed := regexp.MustCompile("`(noregret_[a-z_]+)(?:\\{([a-z,]+)\\})?`")
	for _, m := range listed.FindAllStringSubmatch(section, -1) {
		documented[m[1]] = m[2]
	}
	got := registered(t, newWorld(t).server)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if labels, ok := documented[name]; !ok || labels != got[name] {
			t.Errorf("%s{%s} is missing in docs/service.md, or has other labels", name, got[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if _, ok := got[name]; !ok {
			t.Errorf("docs/service.md has %s, which is no metric", name)
		}
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
