package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	stdflag "flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

var writeArchive = stdflag.Bool("write-archive", false, "write the next archive of a data directory (make archive)")

// archived is what a service said of a data directory when it was written.
type archived struct {
	Position uint64
	Digest   string
	// Decisions and Explanations are numbers of [Replay], and Proposals is at least 1.
	Decisions, Explanations, Unknown uint64
	// Explained are explanations by experiment and token, Policies the digests of policies, and
	// Reports the reports without what the policy tells of itself.
	Explained map[string]map[string]*api.Explanation
	Policies  map[string]string
	Reports   map[string]*api.Report
}

const archives = "testdata/archive"

// digests are those of archives that were written with an earlier format of the state. Formats 7
// and 8 keep the sums by round once and with the factors of their variances, so that the same
// events have another digest, and the estimated value of a mixture weighs rounds by the variance of
// a unit. Format 9 counts the units whose window has closed by metric. All else is as it was.
var digests = map[string]string{
	"001.tar.gz": "dbb4ea38ae513a4355b8b8a508bd3a395202bef56e1a6a9b33b5e3cd8bdcb2d1",
	"002.tar.gz": "abaafaf8d56d3a08456bdb2ddc96b0a24a7b9c8abdc06d3ad62b362e8c6beb32",
}

// archiveDefinitions are experiments of each kind of policy.
var archiveDefinitions = []string{
	toy,
	`name: shrinks
arms: [{name: c, value: 0}, {name: bad, value: 1}, {name: good, value: 2}]
control: {arm: c}
metrics: [{name: x, range: [0, 1]}, {name: y, range: [0, 1]}]
objective: {goals: [{metric: x}]}
guardrails: [{metric: y, min: 0.5, hard: false, action: rollback}]
policy: {kind: fixed, split: {c: 0.2, bad: 0.6, good: 0.2}}
round: {length: 1m, min_units: 10}
attribution_window: 10m
`,
	`name: bandit
arms: [{name: a, value: 0}, {name: b, value: 1}, {name: c, value: 2}]
metrics: [{name: x, range: [0, 1]}]
objective: {goals: [{metric: x}]}
policy: {kind: tsallis-inf}
round: {length: 1m, min_units: 10}
attribution_window: 10m
`,
	`name: news
arms: [{name: a, value: 0}, {name: b, value: 1}]
metrics: [{name: x, range: [0, 1]}]
objective: {goals: [{metric: x}]}
context: [{name: age, kind: number, range: [0, 100]}]
policy: {kind: squarecb}
round: {length: 1m, min_units: 10}
attribution_window: 10m
`,
	`name: box
arms: {box: {speed: {low: 0, high: 1}}, nodes: 3, every: 1}
metrics: [{name: x, range: [0, 1]}]
objective: {goals: [{metric: x}]}
round: {length: 1m, min_units: 10}
attribution_window: 10m
`,
}

// TestArchives opens the data directories that earlier versions have written: the digest, what is
// served, and what is explained and reported of the past are what they were, and a replay finds no
// difference.
func TestArchives(t *testing.T) {
	if *writeArchive {
		next(t)
	}
	files, err := filepath.Glob(archives + "/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives in %s: %v", archives, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := t.TempDir()
			unpack(t, file, data)
			var want archived
			text, err := os.ReadFile(filepath.Join(data, "archived.json"))
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			now := want.Reports["toy"].Time
			if digest := digests[filepath.Base(file)]; digest != "" {
				text = bytes.ReplaceAll(text, []byte(want.Digest), []byte(digest))
				want.Digest = digest
			}
			w := newWorld(t, func(c *Config) {
				c.Data, c.FS, c.Now = data, vfs.Default, func() time.Time { return now }
			})
			got := w.archived(want.Explained)
			w.end()
			log, err := eventlog.Open(vfs.Default, LogDir(data), eventlog.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r, err := ReplayEvents(experiment.NewState(), log.Read(t.Context(), 1), 0)
			if err = errors.Join(err, log.Close()); err != nil {
				t.Fatal(err)
			}
			if r.Digest != want.Digest || r.Position != want.Position || r.Different+r.Misexplained > 0 ||
				r.Decisions != want.Decisions || r.Explanations != want.Explanations || r.Unknown != want.Unknown ||
				r.Proposals == 0 {
				t.Errorf("the replay is %+v", r)
			}
			got.Decisions, got.Explanations, got.Unknown = r.Decisions, r.Explanations, r.Unknown
			var was, is any
			gotText, err := json.Marshal(got)
			if err = errors.Join(err, json.Unmarshal(text, &was), json.Unmarshal(gotText, &is)); err != nil {
				t.Fatal(err)
			}
			if digests[filepath.Base(file)] != "" {
				withoutValues(was)
			}
			if where := differs("", was, is); where != "" {
				t.Error(where)
			}
			w.start() // for the cleanup
		})
	}
}

// withoutValues takes the estimated values of mixtures, and what is computed of them, out of what
// an archive says.
func withoutValues(archive any) {
	switch x := archive.(type) {
	case map[string]any:
		for _, name := range []string{"value", "regret", "objective"} {
			delete(x, name)
		}
		for _, v := range x {
			withoutValues(v)
		}
	case []any:
		for _, v := range x {
			withoutValues(v)
		}
	}
}

// differs returns where a JSON value is no longer what it was, "" for nowhere. Fields may have been
// added.
func differs(place string, was, is any) string {
	switch was := was.(type) {
	case map[string]any:
		is, _ := is.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if where := differs(place+"."+name, was[name], is[name]); where != "" {
				return where
			}
		}
		return ""
	case []any:
		is, _ := is.([]any)
		if len(is) != len(was) {
			return fmt.Sprintf("%s has %d items, and had %d", place, len(is), len(was))
		}
		for i := range was {
			if where := differs(fmt.Sprint(place, "[", i, "]"), was[i], is[i]); where != "" {
				return where
			}
		}
		return ""
	}
	// Statistics may be summed in another order.
	if x, ok := was.(float64); ok {
		if y, ok := is.(float64); ok && math.Abs(x-y) <= 1e-12*math.Abs(x) {
			return ""
		}
	}
	if was != is {
		return fmt.Sprintf("%s is %v, and was %v", place, is, was)
	}
	return ""
}

// archived asks a service for what an archive says, of given tokens.
func (w *world) archived(tokens map[string]map[string]*api.Explanation) archived {
	w.t.Helper()
	var name struct {
		Position uint64
		Digest   string
	}
	w.get(200, &name, "GET", "/v1/state", "")
	out := archived{
		Position: name.Position, Digest: name.Digest, Explained: map[string]map[string]*api.Explanation{},
		Policies: map[string]string{}, Reports: map[string]*api.Report{},
	}
	for experiment, of := range tokens {
		out.Explained[experiment] = map[string]*api.Explanation{}
		for token := range of {
			e := new(api.Explanation)
			path := "/v1/experiments/" + experiment + "/explain?token=" + url.QueryEscape(token)
			if experiment == "news" {
				path += "&context=" + url.QueryEscape(`{"age":30}`)
			}
			w.get(200, e, "GET", path, "")
			out.Explained[experiment][token] = e
		}
		r := new(api.Report)
		w.get(200, r, "GET", "/v1/experiments/"+experiment+"/report", "")
		r.Notes, r.Drift, r.Health.Problems = nil, nil, nil // are texts
		out.Reports[experiment] = r
		var p struct{ Digest string }
		w.get(200, &p, "GET", "/v1/experiments/"+experiment+"/policy", "")
		out.Policies[experiment] = p.Digest
	}
	return out
}

// next plays a service and writes its data directory as the next archive.
func next(t *testing.T) {
	t.Helper()
	data := t.TempDir()
	w := newWorld(t, func(c *Config) { c.Data, c.FS = data, vfs.Default })
	tokens := map[string]map[string]*api.Explanation{}
	for _, text := range archiveDefinitions {
		w.apply(text)
	}
	for round := range 5 {
		for _, name := range []string{"toy", "shrinks", "bandit", "news", "box"} {
			if tokens[name] == nil {
				tokens[name] = map[string]*api.Explanation{}
			}
			w.play(name, round, tokens[name])
		}
		w.wait(11 * time.Minute)
		for range 3 {
			w.server.Tick()
		}
		switch round {
		case 1:
			w.get(200, nil, "POST", "/v1/experiments/toy/veto", `{"arm":"guard","reason":"a test"}`)
			w.get(200, nil, "POST", "/v1/experiments/bandit/pause", "")
		case 2:
			w.get(200, nil, "POST", "/v1/experiments/toy/veto", `{"arm":"guard","lift":true}`)
			w.get(200, nil, "POST", "/v1/experiments/bandit/resume", "")
		case 3:
			w.get(200, nil, "POST", "/v1/experiments/bandit/conclude", `{"reason":"enough"}`)
		}
	}
	want := w.archived(tokens)
	w.end()
	log, err := eventlog.Open(vfs.Default, LogDir(data), eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for e, err := range log.Read(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
	}
	r, err := ReplayEvents(experiment.NewState(), log.Read(t.Context(), 1), 0)
	if err = errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if kinds[experiment.KindServe] == 0 || kinds[experiment.KindRound] < 10 {
		t.Fatalf("the log has too little of interest: %v", kinds)
	}
	want.Decisions, want.Explanations, want.Unknown = r.Decisions, r.Explanations, r.Unknown
	text, err := json.MarshalIndent(want, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "archived.json"), text, 0o600)
	}
	files, err2 := filepath.Glob(archives + "/*.tar.gz")
	if err = errors.Join(err, err2, os.MkdirAll(archives, 0o755)); err != nil {
		t.Fatal(err)
	}
	pack(t, data, fmt.Sprintf("%s/%03d.tar.gz", archives, len(files)+1))
	w.start() // for the cleanup
}

// play lets some units decide, see their arm and report.
func (w *world) play(name string, round int, tokens map[string]*api.Explanation) {
	w.t.Helper()
	var shown, said []item
	var units []string
	for i := range map[bool]int{true: 200, false: 30}[name == "shrinks"] {
		unit := fmt.Sprintf(`"unit-%d-%d"`, round, i)
		if name == "news" {
			unit = `{"id":` + unit + `,"context":{"age":30}}`
		}
		units = append(units, unit)
	}
	var answer struct{ Decisions []decision }
	w.get(200, &answer, "POST", "/v1/experiments/"+name+"/decide", `{"units":[`+strings.Join(units, ",")+`]}`)
	for i, out := range answer.Decisions {
		value := float64((i+len(out.Arm))%3) / 3
		metrics := map[string]float64{"x": value}
		if name == "toy" || name == "shrinks" {
			metrics["y"] = 0.9 - value/3
			if strings.HasPrefix(out.Arm, "b") {
				metrics["y"] = 0
			}
		}
		shown, said = append(shown, item{Token: out.Token}), append(said, item{Token: out.Token, Metrics: metrics})
		if i < 3 {
			tokens[out.Token] = nil
		}
	}
	if name == "news" {
		var b bytes.Buffer
		for i, it := range shown {
			fmt.Fprintf(&b, "%s{\"token\":%q,\"context\":{\"age\":30}}", []string{"", ","}[min(i, 1)], it.Token)
		}
		w.get(200, nil, "POST", "/v1/exposures", `{"items":[`+b.String()+`]}`)
	} else {
		w.post("/v1/exposures", shown...)
	}
	w.post("/v1/feedback", said...)
}

// pack writes the files of a directory to an archive, in order and without times.
func pack(t *testing.T, dir, file string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	a := tar.NewWriter(z)
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	slices.Sort(names)
	for _, path := range names {
		text, err2 := os.ReadFile(path)
		name, err3 := filepath.Rel(dir, path)
		h := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(text))}
		err = errors.Join(err, err2, err3, a.WriteHeader(h))
		_, err2 = a.Write(text)
		err = errors.Join(err, err2)
	}
	if err = errors.Join(err, a.Close(), z.Close(), os.WriteFile(file, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s has %d files in %d bytes", file, len(names), b.Len())
}

// unpack writes the files of an archive to a directory.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for a := tar.NewReader(z); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		path := ""
		if err == nil {
			path = filepath.Join(dir, filepath.FromSlash(h.Name))
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(a)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEarlierFormat refuses the data of earlier versions with a sentence that says what to do.
func TestEarlierFormat(t *testing.T) {
	const want = "start with a new data directory"
	config := testConfig(t)
	config.NewKeys = true
	log, err := eventlog.Open(config.FS, LogDir(config.Data), eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	definition := `{"experiment":"x","definition":{"name":"x","arms":[{"name":"a","value":1},{"name":"b","value":2}],` +
		`"metrics":[{"name":"m"}],"objective":{"goals":[{"metric":"m"}]}}}`
	_, _, err = log.Append(t.Context(), eventlog.Event{
		Kind: experiment.KindDefinition, Time: 1, Payload: []byte(definition),
	})
	if err = errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a log of an earlier version: %v", err)
	}
	// Its first events are gone, and the snapshot is of its format.
	config = testConfig(t)
	config.NewKeys = true
	if log, err = eventlog.Create(config.FS, LogDir(config.Data), 7, eventlog.DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	err = log.SaveSnapshot(t.Context(), 7, []byte(`{"format":"noregret state 5","position":7,"experiments":[]}`))
	if err = errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a snapshot of an earlier version: %v", err)
	}
}

// A replay of a log whose shares the present policy would not propose tells of them, and finds no
// difference in what was served.
func TestReplayTellsOfOtherProposals(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	for round := range 2 {
		w.play("toy", round, map[string]*api.Explanation{})
		w.wait(11 * time.Minute)
		w.server.Tick()
	}
	var records []eventlog.Record
	for r, err := range w.server.writer.log.Read(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
		if r.Kind == experiment.KindRound && len(records) > 6 {
			break
		}
	}
	replay := func() *Replay {
		r, err := ReplayEvents(experiment.NewState(), func(yield func(eventlog.Record, error) bool) {
			for _, rec := range records {
				if !yield(rec, nil) {
					return
				}
			}
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	same := replay()
	if same.Proposals < 2 || same.Changed != 0 || same.Explanations == 0 || same.Different+same.Misexplained > 0 {
		t.Fatalf("the replay is %+v", same)
	}
	last := &records[len(records)-1]
	swap := regexp.MustCompile(`"shares":\["(\d+)","(\d+)","(\d+)"\]`)
	other := swap.ReplaceAll(last.Payload, []byte(`"shares":["$2","$1","$3"]`))
	if bytes.Equal(other, last.Payload) {
		t.Fatalf("the shares are alike: %s", last.Payload)
	}
	last.Payload = other
	got := replay()
	if got.Changed != 1 || len(got.Changes) != 1 || got.Changes[0].Served == got.Changes[0].Proposed ||
		got.Changes[0].Policy != "mixture" || got.Different+got.Misexplained > 0 || got.Refused != same.Refused {
		t.Errorf("the replay is %+v", got)
	}
	if got.Digest == same.Digest {
		t.Error("the log says of other shares, and the digest is the same")
	}
}
