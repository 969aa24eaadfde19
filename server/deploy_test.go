package server

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/server/internal/access"
)

// expressions adds the values of all fields of the given names in a document to out.
func expressions(v any, out *[]string, names ...string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if text, ok := value.(string); ok && slices.Contains(names, name) {
				*out = append(*out, text)
			}
			expressions(value, out, names...)
		}
	case []any:
		for _, value := range v {
			expressions(value, out, names...)
		}
	}
}

// readDocument reads a file of YAML or JSON.
func readDocument(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".json") {
		err = json.Unmarshal(b, v)
	} else if err == nil {
		err = yaml.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestDeployedMetrics: the rules, their tests and the dashboard have only metrics, labels and
// routes of the service, and every family of metrics is on the dashboard or in a rule.
func TestDeployedMetrics(t *testing.T) {
	w := newWorld(t)
	known := registered(t, w.server)
	routes := map[string]bool{}
	for _, rt := range w.server.router.all {
		routes[rt.Method+" "+rt.Pattern] = true
	}
	used := map[string]bool{}
	selector := regexp.MustCompile(`(\w*:)?\b(noregret_[a-z_]+)(?:\{((?:[^"}]|"[^"]*")*)\})?`)
	label := regexp.MustCompile(`([a-z_]+)=~?"([^"]*)"`)
	grouped := regexp.MustCompile(`by \(([a-z, ]*)\)`)
	for path, fields := range map[string][]string{
		"../deploy/prometheus/noregret.rules.yaml": {"expr"},
		"../deploy/prometheus/noregret.test.yaml":  {"series"},
		"../deploy/grafana/noregret.json":          {"expr", "definition"},
	} {
		var doc any
		readDocument(t, path, &doc)
		var all []string
		expressions(doc, &all, fields...)
		if len(all) < 10 {
			t.Errorf("%s: only %d expressions", path, len(all))
		}
		for _, expr := range all {
			labels := map[string]bool{"job": true, "instance": true, "le": true}
			for _, m := range selector.FindAllStringSubmatch(expr, -1) {
				if m[1] != "" {
					// A recorded rate.
					labels["experiment"], labels["status"], labels["route"] = true, true, true
					continue
				}
				name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[2], "")
				list, ok := known[name]
				if !ok {
					t.Errorf("%s: %s: the service has no metric %s", path, expr, name)
				}
				used[name] = used[name] || fields[0] == "expr"
				own := append(strings.Split(list[0], ","), "job", "instance", "le")
				for _, l := range own {
					labels[l] = true
				}
				for _, l := range label.FindAllStringSubmatch(m[3], -1) {
					if !slices.Contains(own, l[1]) {
						t.Errorf("%s: %s: %s has no label %s", path, expr, name, l[1])
					}
					if l[1] == "route" && !routes[l[2]] {
						t.Errorf("%s: %s: no route %q", path, expr, l[2])
					}
				}
			}
			for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
				for l := range strings.SplitSeq(m[1], ", ") {
					if !labels[l] {
						t.Errorf("%s: %s: no metric of it has the label %s", path, expr, l)
					}
				}
			}
		}
	}
	// What the others show already, and counters for a closer look.
	spare := []string{
		"noregret_clock_steps_total", "noregret_http_stream_duration_seconds", "noregret_items_total",
		"noregret_node_lag_events", "noregret_node_term", "noregret_snapshots_total",
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if used[name] == slices.Contains(spare, name) {
			t.Errorf("%s is on the dashboard or in a rule: %t", name, used[name])
		}
	}
}

// TestPromtool runs promtool, where it is installed, on the rules, their tests and the
// configuration.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("NOT RUN: promtool is not installed (Debian: prometheus)")
	}
	for _, args := range []string{
		"check rules noregret.rules.yaml", "test rules noregret.test.yaml",
		"check config --syntax-only prometheus.yaml",
	} {
		cmd := exec.Command(promtool, strings.Fields(args)...)
		cmd.Dir = "../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}

// TestRunbooks: each alert is tested, is named at most once, and leads to a heading of a page.
func TestRunbooks(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	readDocument(t, "../deploy/prometheus/noregret.rules.yaml", &rules)
	var tests any
	readDocument(t, "../deploy/prometheus/noregret.test.yaml", &tests)
	var tested []string
	expressions(tests, &tested, "alertname")
	const alerts = "docs/how-to/alerts.md"
	page, err := os.ReadFile("../" + alerts)
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
		anchor := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		headings[alerts+"#"+regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(anchor, "")] = true
	}
	n, seen := 0, map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			n++
			if seen[r.Alert] || !slices.Contains(tested, r.Alert) || r.Annotations["summary"] == "" {
				t.Errorf("%s: named twice, not tested, or without a summary", r.Alert)
			}
			seen[r.Alert] = true
			if !headings[r.Annotations["runbook"]] {
				t.Errorf("%s: no heading %s", r.Alert, r.Annotations["runbook"])
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d alerts", n)
	}
}

// TestProbes: the paths of the probes exist and need no token, and each has its purpose.
func TestProbes(t *testing.T) {
	type probe struct {
		HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	}
	var set struct {
		Spec struct {
			Replicas int
			Template struct {
				Spec struct {
					Containers []struct {
						Startup   probe `yaml:"startupProbe"`
						Liveness  probe `yaml:"livenessProbe"`
						Readiness probe `yaml:"readinessProbe"`
					}
				}
			}
		}
	}
	readDocument(t, "../deploy/kubernetes/statefulset.yaml", &set)
	c := set.Spec.Template.Spec.Containers[0]
	if set.Spec.Replicas != 1 {
		t.Errorf("%d replicas, but one process holds the log", set.Spec.Replicas)
	}
	w := newWorld(t)
	for want, p := range map[string]probe{"/livez": c.Startup, "/livez ": c.Liveness, "/readyz": c.Readiness} {
		if p.HTTPGet.Path != strings.TrimSpace(want) || p.HTTPGet.Port != "http" {
			t.Errorf("a probe of %+v, want %s", p.HTTPGet, want)
		}
		found := false
		for _, rt := range w.server.router.all {
			found = found || rt.Method == "GET" && rt.Pattern == p.HTTPGet.Path && rt.Role == access.Anyone
		}
		if !found {
			t.Errorf("%s is no route that needs no token", p.HTTPGet.Path)
		}
	}
}
