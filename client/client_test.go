package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/policy"
)

// TestCalls makes every call once.
func TestCalls(t *testing.T) {
	s, ctx := newService(t), context.Background()
	c := s.client
	ds, err := c.Decide(ctx, "toy", "ann", "bob")
	if err != nil || len(ds) != 2 || ds[1].Unit != "bob" {
		t.Fatalf("%+v %v", ds, err)
	}
	if f, err := c.Exposures(ctx, api.FeedbackItem{Token: ds[0].Token}); err != nil || f.Accepted != 1 {
		t.Errorf("%+v %v", f, err)
	}
	if f,
		err := c.Feedback(ctx, api.FeedbackItem{
		Token:   ds[0].Token,
		Metrics: map[string]float64{"x": 1},
	}); err != nil || f.Accepted != 1 {
		t.Errorf("%+v %v", f, err)
	}
	if e, err := c.Explain(ctx, "toy", ds[0].Token); err != nil || !e.Consistent {
		t.Errorf("%+v %v", e, err)
	}
	for _, step := range []struct{ what, state string }{
		{"pause", "paused"},
		{"resume", "running"},
		{"rollback", "rolled_back"},
	} {
		if v, err := c.Change(ctx, "toy", step.what, "a test"); err != nil || string(v.State) != step.state {
			t.Errorf("%+v %v", v, err)
		}
	}
	if list, err := c.Experiments(ctx); err != nil || len(list) != 1 || list[0].Name != "toy" {
		t.Errorf("%+v %v", list, err)
	}
	if r, err := c.Report(ctx, "toy"); err != nil || r.State != policy.RolledBack || r.Feedback.Accepted != 1 {
		t.Errorf("%+v %v", r, err)
	}
	want, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.State(ctx); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	body, err := c.Export(ctx, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(body)
	if err != nil || uint64(bytes.Count(lines, []byte("\n"))) != want.Position {
		t.Errorf("%s %v", lines, err)
	}
	_ = body.Close()
	if err := c.Delete(ctx, "toy", "", true); err != nil {
		t.Error(err)
	}
	_, err = c.Report(ctx, "toy")
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 404 || noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("%v", err)
	}
}

// TestRetries checks that repeatable requests are retried up to the number of attempts and that
// changes are sent once.
func TestRetries(t *testing.T) {
	s, ctx := newService(t), context.Background()
	for _, c := range []struct {
		refuse int64
		ok     bool
		sent   int64
		call   func() error
	}{
		{3, true, 4, func() error { _, err := s.client.Decide(ctx, "toy", "a"); return err }},
		{4, false, 4, func() error { _, err := s.client.Decide(ctx, "toy", "a"); return err }},
		{1, false, 1, func() error { _, err := s.client.Change(ctx, "toy", "pause", ""); return err }},
		{1, false, 1, func() error { return s.client.Delete(ctx, "toy", "", true) }},
		{0, false, 1, func() error { _, err := s.client.Decide(ctx, "none", "a"); return err }},
	} {
		s.refuse.Store(c.refuse)
		before := s.count.Load()
		err := c.call()
		if (err == nil) != c.ok || s.count.Load()-before != c.sent {
			t.Errorf("%+v: %d requests, %v", c, s.count.Load()-before, err)
		}
		s.refuse.Store(0)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.client.Decide(ended, "toy", "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, o := range []client.Options{
		{},
		client.DefaultOptions("ftp://x"),
		client.DefaultOptions("127.0.0.1:80"),
		client.DefaultOptions("http://x?y"),
		{URL: "http://x", Pause: time.Second},
		{URL: "http://x", Attempts: 1},
	} {
		if _, err := client.New(o); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestZeroOptions checks that a number which is 0 is refused, and with it the zero value.
func TestZeroOptions(t *testing.T) {
	s := newService(t)
	for i, change := range []func(o *client.ReporterOptions){
		func(o *client.ReporterOptions) { *o = client.ReporterOptions{} },
		func(o *client.ReporterOptions) { o.Batch = 0 },
		func(o *client.ReporterOptions) { o.Every = 0 },
		func(o *client.ReporterOptions) { o.Queue = 0 },
	} {
		o := client.DefaultReporterOptions()
		change(&o)
		if _, err := s.client.NewReporter(o); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("reporter %d: %+v: %v", i, o, err)
		}
	}
	for i, change := range []func(o *client.LocalOptions){
		func(o *client.LocalOptions) { *o = client.LocalOptions{} },
		func(o *client.LocalOptions) { o.Source = "" },
		func(o *client.LocalOptions) { o.Every = 0 },
		func(o *client.LocalOptions) { o.Queue = 0 },
		func(o *client.LocalOptions) { o.Wait = 0 },
	} {
		o := client.DefaultLocalOptions()
		change(&o)
		if _, err := s.client.NewLocal(t.Context(), "toy", o); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("local %d: %+v: %v", i, o, err)
		}
	}
}

// hourly are options of a Local that reports nothing by itself.
func hourly() client.LocalOptions {
	o := client.DefaultLocalOptions()
	o.Every = time.Hour
	return o
}

// TestReporter checks that every item of many goroutines arrives once although the service is
// unavailable for a while.
func TestReporter(t *testing.T) {
	s, ctx := newService(t), context.Background()
	ds, err := s.client.Decide(ctx, "toy", units(400)...)
	if err != nil {
		t.Fatal(err)
	}
	var total api.FeedbackResult
	batches := 0
	r, err := s.client.NewReporter(client.ReporterOptions{
		Batch: 50, Every: time.Hour, Queue: 10,
		Done: func(_ bool, _ []api.FeedbackItem, f api.FeedbackResult, err error) {
			if err != nil {
				t.Error(err)
			}
			batches++
			total.Accepted += f.Accepted
			total.Duplicate += f.Duplicate
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.refuse.Store(11) // more failures than one call has attempts
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for _, d := range ds[w*100 : (w+1)*100] {
				if err := errors.Join(r.Exposure(ctx, d.Token),
					r.Feedback(ctx, d.Token, map[string]float64{"x": 1})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := r.Flush(ctx); err != nil {
		t.Error(err)
	}
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
	report, err := s.Report("toy")
	if err != nil || total.Accepted != 800 || total.Duplicate != 0 || report.Feedback.Accepted != 400 ||
		report.Health.Exposures.Accepted != 400 || batches > 20 {
		t.Errorf("%+v in %d batches; %+v, %v", total, batches, report.Feedback, err)
	}
	if err := r.Exposure(ctx, "x"); err == nil {
		t.Error("a closed reporter accepted an item")
	}
}

// TestReporterHoldsBack checks that a full queue makes the caller wait until its context ends.
func TestReporterHoldsBack(t *testing.T) {
	s := newService(t)
	r, err := s.client.NewReporter(client.ReporterOptions{Batch: 1, Every: time.Second, Queue: 2})
	if err != nil {
		t.Fatal(err)
	}
	before := s.count.Load()
	s.refuse.Store(1 << 40)
	if err := r.Exposure(context.Background(), "x"); err != nil {
		t.Fatal(err)
	}
	for s.count.Load() == before {
		runtime.Gosched() // until the reporter is busy with the first item
	}
	for range 2 {
		if err := r.Exposure(context.Background(), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.TryExposure("x"); err == nil || !strings.Contains(err.Error(), "the queue is full") {
		t.Errorf("TryExposure with a full queue: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := r.Exposure(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Exposure with a full queue: %v", err)
	}
	if err := r.Close(ctx); err == nil {
		t.Error("Close returned no error though nothing could be sent")
	}
}

// TestLocalSameArm checks that the process and the service make the same decisions, before and
// after changes of the policy.
func TestLocalSameArm(t *testing.T) {
	s, ctx := newService(t), context.Background()
	renewed := make(chan uint64, 10)
	o := hourly()
	o.Renewed = func(p *policy.Policy) { renewed <- p.Version }
	l, err := s.client.NewLocal(ctx, "toy", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	names := units(300)
	for round := range 4 {
		ds, err := s.client.Decide(ctx, "toy", names...)
		if err != nil {
			t.Fatal(err)
		}
		if round > 0 { // the long poll brings it
			if v := <-renewed; v != ds[0].Version {
				t.Fatalf("round %d: the client has version %d, the service %d", round, v, ds[0].Version)
			}
		}
		held := 0
		for i, d := range ds {
			got, err := l.Decide(names[i])
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != d.Arm || got.Propensity != d.Propensity || got.Version != d.Version ||
				!bytes.Equal(got.Value, d.Value) {
				t.Fatalf("round %d, %s: the client decides %+v, the service %+v", round, names[i], got, d)
			}
			if got.HeldBack {
				held++
			}
			if err := l.Record(got, map[string]float64{
				"x":     map[string]float64{"gain": 2}[got.Name] + float64(i%7),
				"shown": 3,
			}); err != nil {
				t.Fatal(err)
			}
		}
		if held < 10 || held > 60 {
			t.Errorf("%d of 300 held back", held)
		}
		if err := l.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		switch round {
		case 0:
			_, err = s.client.Change(ctx, "toy", "rollback", "")
		case 1:
			_, err = s.client.Change(ctx, "toy", "resume", "")
		case 2:
			_,
				err = s.client.Apply(ctx, "toy",
				bytes.Replace([]byte(toy), []byte("share: 0.2"), []byte("share: 0.4"), 1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if l.Policy().Version != 4 {
		t.Errorf("version %d", l.Policy().Version)
	}
}

// TestLocalSums checks that the recorded sums arrive once, even if the service was unavailable
// meanwhile.
func TestLocalSums(t *testing.T) {
	s, ctx := newService(t), context.Background()
	var results []api.FeedbackResult
	o := hourly()
	o.Source = "test"
	o.Done = func(_ api.Aggregate, f api.FeedbackResult, err error) {
		if err != nil {
			t.Error(err)
		}
		results = append(results, f)
	}
	l, err := s.client.NewLocal(ctx, "toy", o)
	if err != nil {
		t.Fatal(err)
	}
	n, sum := map[string]int64{}, map[string]float64{}
	for i, u := range units(500) {
		d, err := l.Decide(u)
		if err != nil {
			t.Fatal(err)
		}
		// A third has only x: the ratio's numerator is then the default.
		metrics := map[string]float64{"x": float64(i)}
		if i%3 > 0 {
			metrics["shown"] = 2
		}
		if i%2 == 0 {
			metrics["clicks"] = 1
		}
		if err := l.Record(d, metrics); err != nil {
			t.Fatal(err)
		}
		if !d.HeldBack {
			n[d.Name]++
			sum[d.Name] += float64(i)
		}
		if i == 250 {
			if err := l.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, v := range map[string]float64{"x": math.NaN(), "clicks": 0.5, "shown": -1, "rate": 1, "none": 1} {
		d, err := l.Decide("z")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Record(d, map[string]float64{name: v}); err == nil {
			t.Errorf("%s = %v was accepted", name, v)
		}
	}
	s.refuse.Store(9)
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	for arm, a := range r.Arms {
		x, shown, rate, clicks := a.Metrics["x"], a.Metrics["shown"], a.Metrics["rate"], a.Metrics["clicks"]
		// Metrics with a default, and ratios, count when the window has closed.
		if a.N != n[arm] || math.Abs(*x.Mean-sum[arm]/float64(n[arm])) > 1e-9 || shown.N >= a.N || shown.N < a.N/2 ||
			*shown.Mean != 2 || clicks.N != 0 || rate.N != 0 {
			t.Errorf("%s: %+v, want %d units with the sum %v", arm, a, n[arm], sum[arm])
		}
	}
	for _, f := range results {
		if f.Rejected+f.Late+f.Duplicate > 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(results) != 2 {
		t.Errorf("%d reports", len(results))
	}
}

// TestLocalTellsRefused checks that the error of Flush describes the sums that the service rejected
// and that Flush does not send them again.
func TestLocalTellsRefused(t *testing.T) {
	s, ctx := newService(t), context.Background()
	l, err := s.client.NewLocal(ctx, "toy", hourly())
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Decide("ann")
	if err == nil {
		err = l.Record(d, map[string]float64{"x": 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	refuse := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/aggregates" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_,
			_ = io.WriteString(w,
			`{"accepted": 0, "duplicate": 0, "late": 0, "rejected": 1, "items": [{"status": "rejected", "error": "no `+
				`reason"}]}`)
	})
	s.answer.Store(&refuse)
	if err := l.Flush(ctx); noregret.CodeOf(err) != noregret.BadInput ||
		!strings.Contains(err.Error(), "the sums of 1 units are rejected: no reason") {
		t.Errorf("flush: %v", err)
	}
	if err := l.Flush(ctx); err != nil {
		t.Errorf("flush again: %v", err)
	}
	s.answer.Store(nil)
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
}

func BenchmarkLocalDecide(b *testing.B) {
	s, ctx := newService(b), context.Background()
	l, err := s.client.NewLocal(ctx, "toy", client.DefaultLocalOptions())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Decide("user-1234567"); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := l.Close(ctx); err != nil {
		b.Error(err)
	}
}

// TestReporterRefuses checks that an item that could never be sent is refused at once and does not
// delay the others.
func TestReporterRefuses(t *testing.T) {
	s, ctx := newService(t), context.Background()
	ds, err := s.client.Decide(ctx, "toy", "ann")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.client.NewReporter(client.ReporterOptions{Batch: 500, Every: time.Hour, Queue: 5000})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if err := r.Feedback(ctx, ds[0].Token, map[string]float64{"x": v}); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: %v", v, err)
		}
	}
	for _, err := range []error{
		r.Feedback(ctx, "", map[string]float64{"x": 1}), r.Feedback(ctx, "t", nil),
		r.Exposure(ctx, ""),
	} {
		if noregret.CodeOf(err) != noregret.BadInput {
			t.Error(err)
		}
	}
	if err := errors.Join(r.Exposure(ctx, ds[0].Token), r.Feedback(ctx, ds[0].Token, map[string]float64{"x": 1}),
		r.Close(ctx)); err != nil {
		t.Error(err)
	}
	report, err := s.Report("toy")
	if err != nil || report.Feedback.Accepted != 1 {
		t.Errorf("%+v %v", report.Feedback, err)
	}
	for _, unit := range []string{"", "a\xffb", strings.Repeat("x", 513)} {
		if _, err := s.client.Decide(ctx, "toy", unit); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("unit %q: %v", unit, err)
		}
	}
}

// TestReporterSplits checks that a batch that is too large for the service is split, and that Flush
// and Close return an error for an item that is too large by itself.
func TestReporterSplits(t *testing.T) {
	s, ctx := newService(t), context.Background()
	ds, err := s.client.Decide(ctx, "toy", units(40)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.client.NewReporter(client.ReporterOptions{Batch: 500, Every: time.Hour, Queue: 5000})
	if err != nil {
		t.Fatal(err)
	}
	padding := strings.Repeat("p", 100_000)
	for _, d := range ds { // 40 items of 100 kB, the limit is 1 MiB
		if err := r.Feedback(ctx, d.Token, map[string]float64{"x": 1, padding: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Flush(ctx); err != nil {
		t.Errorf("flush: %v", err)
	}
	if n := s.count.Load(); n < 6 || n > 14 {
		t.Errorf("%d requests for 4 MB", n)
	}
	if err := r.Feedback(ctx, ds[0].Token, map[string]float64{"x": 1, strings.Repeat("p", 2<<20): 1}); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(ctx); err == nil || !strings.Contains(err.Error(), "1 items were dropped") {
		t.Errorf("flush: %v", err)
	}
	if err := r.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestPatience checks that a response that cannot be decoded and an unknown access token are
// temporary failures that lose no item.
func TestPatience(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a portal's page":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"a token withdrawn": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	} {
		s, ctx := newService(t), context.Background()
		ds, err := s.client.Decide(ctx, "toy", "ann")
		if err != nil {
			t.Fatal(err)
		}
		waits := 0
		waiting := func(error) {
			if waits++; waits == 6 {
				s.answer.Store(nil)
			}
		}
		r, err := s.client.NewReporter(client.ReporterOptions{
			Batch: 500, Every: time.Hour, Queue: 5000, Waiting: waiting,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.answer.Store(&answer)
		if err := errors.Join(r.Feedback(ctx, ds[0].Token, map[string]float64{"x": 1}), r.Flush(ctx),
			r.Close(ctx)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if waits != 6 {
			t.Errorf("%s: %d failures", name, waits)
		}
		report, err := s.Report("toy")
		if err != nil || report.Feedback.Accepted != 1 {
			t.Errorf("%s: %+v %v", name, report.Feedback, err)
		}
	}
}

// TestReporterCloses checks that Close returns when its context ends although the service is
// unavailable and the queue is full, and that the callers waiting for the queue return, too.
func TestReporterCloses(t *testing.T) {
	s := newService(t)
	s.refuse.Store(1 << 40)
	told := make(chan error, 1)
	o := client.DefaultReporterOptions()
	o.Batch, o.Queue = 1, 1
	o.Waiting = func(err error) {
		select {
		case told <- err:
		default:
		}
	}
	r, err := s.client.NewReporter(o)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { _ = r.Exposure(context.Background(), "x") })
	}
	<-told
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Exposure(ended, "y"); !errors.Is(err, context.Canceled) {
		t.Errorf("Exposure with an ended context: %v", err)
	}
	if err := r.Close(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("close: %v", err)
	}
	wg.Wait()
	if err := r.Close(context.Background()); err != nil {
		t.Errorf("a second close: %v", err)
	}
}
