package edges

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/memlog"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/server"
)

// flushes are the times between two reports of a process.
var flushes = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}

// sampled is the number of reports and of policies that are measured.
const sampled = 500

// name is the experiment's.
const name = "edge"

// measured are the sizes in bytes and the times of one report and of one policy.
type measured struct {
	units, report, event float64
	reportTime           time.Duration
	policy               float64
	policyTime           time.Duration
	state                float64 // bytes of the snapshot at the end
}

// traffic measures a report for each time between reports, and calculates the rest.
func (o *options) traffic(ctx context.Context) ([]study.Table, error) {
	each := &study.Table{
		Title: "one report, as measured",
		Columns: []string{
			"every", "units", "bytes sent", "bytes in the log", "µs of the leader", "µs for each unit",
		},
	}
	all := &study.Table{
		Title: fmt.Sprintf("%d processes that make %.3g decisions a day", o.edges, o.decisions),
		Columns: []string{
			"every", "reports/s", "MB/s sent", "GB a day in the log", "cores of the leader", "reports an append",
			"lost with a process, units",
		},
		Notes: fmt.Sprintf("The log takes %.6g appends each second, up to %d reports in each.\n", o.appends,
			groupReports),
	}
	none, err := o.measure(ctx, time.Second, 0)
	if err != nil {
		return nil, err
	}
	var last measured
	for _, every := range flushes {
		m, err := o.measure(ctx, every, sampled)
		if err != nil {
			return nil, err
		}
		reports := float64(o.edges) / every.Seconds()
		micros := float64(m.reportTime) / 1e3
		each.Add(every.String(), study.Number("%.3g", m.units), study.Number("%.0f", m.report),
			study.Number("%.0f", m.event), study.Number("%.0f", micros), study.Number("%.3g", micros/max(m.units, 1)))
		all.Add(every.String(), study.Number("%.4g", reports), study.Number("%.3g", reports*m.report/1e6),
			study.Number("%.3g", reports*m.event*86400/1e9), study.Number("%.2g", reports*micros/1e6),
			study.Number("%.3g", max(1, reports/o.appends)), study.Number("%.3g", m.units))
		last = m
	}
	policies := &study.Table{
		Title: "policies and state",
		Columns: []string{
			"bytes of a policy", "µs of the leader", "MB to all", "seconds of a core to all", "state, bytes a process",
			"MB of all",
		},
	}
	n, source := float64(o.edges), (last.state-none.state)/sampled
	policies.Add(study.Number("%.0f", last.policy), study.Number("%.0f", float64(last.policyTime)/1e3),
		study.Number("%.3g", n*last.policy/1e6), study.Number("%.2g", n*last.policyTime.Seconds()),
		study.Number("%.0f", source), study.Number("%.3g", n*source/1e6))
	return []study.Table{*each, *all, *policies}, nil
}

// groupReports is the number of reports that share an append of the log at most: the service puts
// 2,048 events and 4 MiB into one.
const groupReports = 2048

// direct answers requests by a handler, without a network.
type direct struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// measure starts a service whose log is in memory and sends it the reports of n processes.
func (o *options) measure(ctx context.Context, every time.Duration, n int) (m measured, err error) {
	dir, err := os.MkdirTemp("", "noregret-edges")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config := server.DefaultConfig(dir)
	config.Now, config.Tick = func() time.Time { return now }, time.Hour
	config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	storage := memlog.NewStorage()
	config.Log = func(o eventlog.Options) (eventlog.Log, error) { return storage.Open(o) }
	s, err := server.New(config)
	if err != nil {
		return m, err
	}
	m, err = o.use(ctx, s, every, n)
	if err = errors.Join(err, s.Close()); err != nil {
		return m, err
	}
	log, err := storage.Open(eventlog.DefaultOptions())
	if err != nil {
		return m, err
	}
	snapshot, err := log.LatestSnapshot(ctx)
	m.state = float64(len(snapshot.State))
	return m, errors.Join(err, log.Close())
}

// use defines the experiment and measures.
func (o *options) use(ctx context.Context, s *server.Server, every time.Duration, n int) (m measured, err error) {
	options := client.DefaultOptions("http://localhost")
	options.HTTP = &http.Client{Transport: direct{s.Handler()}}
	c, err := client.New(options)
	if err != nil {
		return m, err
	}
	if _, err := c.Apply(ctx, name, o.definition()); err != nil || n == 0 {
		return m, err
	}
	return o.send(ctx, c, every, n)
}

// definition returns an experiment with the numbers of arms and metrics.
func (o *options) definition() []byte {
	b := &strings.Builder{}
	fmt.Fprintf(b, "name: %s\narms:\n", name)
	for k := range o.arms {
		fmt.Fprintf(b, "  - {name: weight-%02d, value: {weight: %.2f}}\n", k, float64(k)/10)
	}
	fmt.Fprintf(b, "control: {arm: weight-00, share: 0.2}\nmetrics:\n")
	for i := range o.metrics {
		fmt.Fprintf(b, "  - {name: %s, range: [0, 100]}\n", metric(i))
	}
	fmt.Fprintf(b, "objective: {goals: [{metric: %s}]}\n", metric(0))
	if o.metrics > 1 {
		fmt.Fprintf(b, "guardrails: [{metric: %s, max_change: 0.05}]\n", metric(1))
	}
	fmt.Fprintf(b, "round: {length: 1h, min_units: 100}\nattribution_window: 1h\n")
	return []byte(b.String())
}

func metric(i int) string { return fmt.Sprintf("metric-%d", i) }

// send sends reports and asks for policies, and measures both.
func (o *options) send(ctx context.Context, c *client.Client, every time.Duration, count int) (m measured, err error) {
	units := o.decisions / 86400 / float64(o.edges) * every.Seconds()
	r := random.SplitMix64(o.seed)
	reports := make([]api.Aggregate, count)
	for i := range reports {
		n := int(units) // and one more with the probability of what is left
		if r.Float64() < units-math.Floor(units) {
			n++
		}
		reports[i] = o.report(&r, i, max(n, 1))
		text, err := json.Marshal(&reports[i])
		if err != nil {
			return m, err
		}
		m.report += float64(len(text)) / float64(count)
		m.units += float64(max(n, 1)) / float64(count)
	}
	begin := time.Now()
	for i := range reports {
		if _, err := c.Aggregate(ctx, reports[i]); err != nil {
			return m, err
		}
	}
	m.reportTime = time.Since(begin) / time.Duration(count)
	if m.event, err = eventSize(ctx, c); err != nil {
		return m, err
	}
	begin = time.Now()
	for range count {
		p, err := c.Policy(ctx, name, "", 0)
		if err != nil {
			return m, err
		}
		if m.policy == 0 {
			text, err := json.Marshal(p)
			if err != nil {
				return m, err
			}
			m.policy = float64(len(text))
		}
	}
	m.policyTime = time.Since(begin) / time.Duration(count)
	return m, nil
}

// report draws the sums of n units of process i.
func (o *options) report(r *random.SplitMix64, i, n int) api.Aggregate {
	a := api.Aggregate{Experiment: name, Source: fmt.Sprintf("edge-%05d", i), Sequence: 1}
	byArm := make([]int64, o.arms)
	for range min(n, 100_000) {
		byArm[int(r.Uint64()%uint64(o.arms))]++
	}
	for k, units := range byArm {
		if units == 0 {
			continue
		}
		item := api.AggregateItem{
			Version: 1, Arm: fmt.Sprintf("weight-%02d", k), Units: units, Metrics: map[string]api.Sums{},
		}
		for j := range o.metrics {
			var sums api.Sums
			for range min(units, 100) {
				sums.Add(math.Round(1e4*r.Float64()) / 100)
			}
			sums.N = units
			item.Metrics[metric(j)] = sums
		}
		a.Items = append(a.Items, item)
	}
	return a
}

// eventSize returns the mean size of the events of reports in the log.
func eventSize(ctx context.Context, c *client.Client) (float64, error) {
	export, err := c.Export(ctx, 1, name)
	if err != nil {
		return 0, err
	}
	defer export.Close()
	size, n := 0, 0
	for d := json.NewDecoder(export); ; n++ {
		var line struct {
			Kind string          `json:"kind"`
			Data json.RawMessage `json:"payload"`
		}
		if err := d.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
		if strings.Contains(line.Kind, "aggregate") {
			size += len(line.Data)
		} else {
			n--
		}
	}
	return float64(size) / float64(max(n, 1)), nil
}
