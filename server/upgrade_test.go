package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/policy"
)

var freeze = goflag.String("freeze", "", "write a data directory of this version to testdata/upgrade/NAME.tar.gz")

// frozen is what a service answered when its data directory was stored. It is in the archive as
// frozen.json, beside the directory data and the backup backup.tar.
type frozen struct {
	Time     time.Time                  `json:"time"`
	Format   string                     `json:"format"` // of the state
	State    policy.StateName           `json:"state"`
	Decided  map[string][]decision      `json:"decided"`
	Reported map[string]json.RawMessage `json:"reported"` // sums of arms by experiment
	Token    string                     `json:"token"`    // of a unit that has reported x
	Audited  int                        `json:"audited"`
}

// formatOf returns the format of a service's state.
func formatOf(t *testing.T, s *Server) string {
	t.Helper()
	b, err := s.live.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		t.Fatal(err)
	}
	return head.Format
}

// answers are what must not change: decisions of all kinds of experiments, and what was counted.
func (w *world) answers() (f frozen) {
	w.t.Helper()
	var err error
	// Before the decisions, as those of news are exposures.
	if f.State, err = w.server.State(); err != nil {
		w.t.Fatal(err)
	}
	f.Audited = len(w.server.live.audit(nil, 0, 0))
	var units []policy.UnitContext
	for i := range 20 {
		units = append(units, policy.UnitContext{
			ID: fmt.Sprint("later-", i), Context: json.RawMessage(fmt.Sprintf(`{"age": %d, "land": "fr"}`, 5*i)),
		})
	}
	f.Decided = map[string][]decision{
		"toy": w.decide("toy", unitNames("later", 50)...), "secret": w.decide("secret", unitNames("later", 50)...),
		"news": w.decideIn("news", units...),
	}
	for _, list := range f.Decided {
		for i := range list {
			list[i].Token = "" // it has the time
		}
	}
	f.Reported = map[string]json.RawMessage{}
	for name := range f.Decided {
		r := w.report(name)
		b, err := json.Marshal(map[string]any{"arms": r.Arms, "mixture": r.Mixture, "state": r.State, "round": r.Round})
		if err != nil {
			w.t.Fatal(err)
		}
		f.Reported[name] = b
	}
	return f
}

// frozenConfig is that of a service on a stored directory.
func frozenConfig(data string) func(c *Config) {
	return func(c *Config) {
		c.Data, c.FS, c.BackupPrivate, c.OpenDisk = data, nil, true, 0
		c.noise = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(5)}
	}
}

// TestFreeze writes the directory of the flag -freeze: run it once for a release, as
// docs/service.md says.
func TestFreeze(t *testing.T) {
	if *freeze == "" {
		t.Skip("only with -freeze NAME")
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	w := newWorld(t, frozenConfig(data), func(c *Config) { c.SnapshotEvery = 10 })
	w.apply(privateToy)
	w.apply(news)
	w.apply(toy)
	for round := range 3 {
		w.privateRound(unitNames(fmt.Sprint("r", round, "-"), 60), func(i int) map[string]float64 {
			return map[string]float64{"buy": float64(i)}
		})
	}
	w.learnNews(2)
	d := w.decide("toy", unitNames("u", 60)...)
	for i := range d {
		w.post("/v1/exposures", item{Token: d[i].Token})
		metrics := map[string]float64{"x": float64(i % 7), "y": float64(i%5) - 1}
		w.post("/v1/feedback", item{Token: d[i].Token, Metrics: metrics})
	}
	w.get(200, nil, "POST", "/v1/experiments/toy/pause", `{"reason": "frozen"}`)
	w.wait(time.Minute)
	w.server.Tick()
	backup := w.takeBackup()
	w.settle()
	// The service is not closed: its log has events after the last snapshot, as after a crash.
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	f := w.answers()
	f.Time, f.Format, f.Token = w.config.Now(), formatOf(t, w.server), d[0].Token
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	out := tar.NewWriter(z)
	add := func(name string, content []byte) {
		t.Helper()
		err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = out.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	add("frozen.json", text)
	add("backup.tar", backup)
	copied := os.DirFS(filepath.Join(dir, "copy"))
	err = fs.WalkDir(copied, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := fs.ReadFile(copied, path)
		if err == nil {
			add("data/"+path, content)
		}
		return err
	})
	if err = errors.Join(err, out.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata/upgrade", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata/upgrade", *freeze+".tar.gz"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// thaw unpacks an archive of TestFreeze.
func thaw(t *testing.T, path, dir string) (f frozen) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(z)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "frozen.json"))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestUpgrade opens the stored data directories of earlier versions, in three ways: as they are, by
// folding all their events, and from a backup. The service must give units the same arms with the
// same propensities, report what was counted, know earlier tokens, and go on; and what it makes of
// the snapshot must be the fold of all events. Digests may differ between versions.
func TestUpgrade(t *testing.T) {
	archives, err := filepath.Glob("testdata/upgrade/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%v: no stored data", err)
	}
	for _, path := range archives {
		name := strings.TrimSuffix(filepath.Base(path), ".tar.gz")
		for how, prepare := range map[string]func(t *testing.T, dir string){
			"as it is": func(*testing.T, string) {},
			"all events": func(t *testing.T, dir string) {
				if err := os.RemoveAll(filepath.Join(LogDir(filepath.Join(dir, "data")), "snapshots")); err != nil {
					t.Fatal(err)
				}
			},
			"backup": func(t *testing.T, dir string) {
				b, err := os.ReadFile(filepath.Join(dir, "backup.tar"))
				if errors.Is(err, fs.ErrNotExist) {
					t.Skip("this version made no backups")
				}
				if err == nil {
					err = os.RemoveAll(filepath.Join(dir, "data"))
				}
				if err == nil {
					_, err = Restore(t.Context(), "backup.tar", bytes.NewReader(b), filepath.Join(dir, "data"))
				}
				if err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				dir := t.TempDir()
				f := thaw(t, path, dir)
				prepare(t, dir)
				w := newWorld(t, frozenConfig(filepath.Join(dir, "data")))
				w.wait(f.Time.Sub(w.config.Now()))
				f.check(t, w)
			})
		}
	}
}

// check requires the answers that were stored.
func (f *frozen) check(t *testing.T, w *world) {
	t.Helper()
	got := w.answers()
	if got.State.Position != f.State.Position || got.Audited != f.Audited {
		t.Errorf("position %d with %d audits, want %d with %d", got.State.Position, got.Audited, f.State.Position,
			f.Audited)
	}
	if format := formatOf(t, w.server); got.State.Digest != f.State.Digest {
		t.Logf("the state has another digest, as learners keep something else; formats %q and %q", f.Format, format)
	}
	for name, want := range f.Decided {
		for i, d := range got.Decided[name] {
			if d.Unit != want[i].Unit || d.Arm != want[i].Arm || d.Propensity != want[i].Propensity ||
				d.Version != want[i].Version || !bytes.Equal(d.Value, want[i].Value) {
				t.Fatalf("%s: %+v, want %+v", name, d, want[i])
			}
		}
	}
	for name, want := range f.Reported {
		if a, b := sumOf(t, got.Reported[name]), sumOf(t, want); a != b {
			t.Errorf("%s: another report\n%s\nwant\n%s", name, got.Reported[name], want)
		}
	}
	result := w.post("/v1/feedback", item{Token: f.Token, Metrics: map[string]float64{"x": 1}})
	if result.Items[0].Status != policy.Duplicate {
		t.Errorf("feedback that was counted: %+v", result.Items[0])
	}
	w.apply(strings.Replace(toy, "share: 0.2", "share: 0.25", 1)) // it goes on
	origin, err := Origin(t.Context(), w.server.log)
	if err != nil {
		t.Fatal(err)
	}
	if err := Fold(t.Context(), w.server.log, origin, w.server.log.Stats().Last); err != nil {
		t.Fatal(err)
	}
	now, err := w.server.State()
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := origin.Digest(); err != nil || digest != now.Digest || origin.Position() != now.Position {
		t.Errorf("%v: the state is not the fold of the log", err)
	}
}

// later are the fields of reports that versions before did not have.
var later = regexp.MustCompile(`"place":\d+,`)

// sumOf is a checksum of JSON that does not depend on white space, nor on later fields.
func sumOf(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(later.ReplaceAll(b.Bytes(), nil))
	return hex.EncodeToString(sum[:])
}
