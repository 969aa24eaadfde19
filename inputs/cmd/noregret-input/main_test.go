package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret/internal/cli/command"
)

const sample = "../../parquet/testdata/pyarrow.parquet"

// run runs the program and returns its exit status and both of its outputs.
func run(t *testing.T, args ...string) (status int, out, errors string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = command.Run(t.Context(), newRoot, args, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestParquet(t *testing.T) {
	status, out, errs := run(t, "parquet", sample, sample, "--ignore-columns", "word,long")
	if lines := strings.Count(out, "\n"); status != 0 || errs != "" || lines != 15 ||
		!strings.HasPrefix(out, "flag,i8,u32,i64,u64,f16,f32,f64,price,day,clock,at,local,kind,none,y\n1,-3,") {
		t.Errorf("status %d, %d lines, %q:\n%s", status, lines, errs, out)
	}
}

func TestStatus(t *testing.T) {
	b, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.parquet")
	if err := os.WriteFile(cut, b[:len(b)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"parquet"}, 2, "parquet takes one or more files"},
		{[]string{"parquet", "-"}, 2, "Parquet is not read from standard input"},
		{[]string{"parquet", sample, "--max-held", "0"}, 2, "--max-held"},
		{[]string{"parkuet", sample}, 2, `unknown command "parkuet"`},
		{[]string{"parquet", filepath.Join(dir, "none")}, 3, "there is no such file"},
		{[]string{"parquet", dir}, 3, "not a file"},
		{[]string{"parquet", cut}, 3, "cut.parquet: truncated: the file ends with"},
		{[]string{"parquet", sample, "--ignore-columns", "wort"}, 3, `there is no column "wort" to ignore`},
	} {
		status, out, errs := run(t, c.args...)
		if status != c.status || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: status %d, %q, output %q", c.args, status, errs, out)
		}
	}
}

func TestObject(t *testing.T) {
	content := strings.Repeat("1 1:0.5\n", 1000)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/data/a.svm" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, r.URL.Path, time.Time{}, strings.NewReader(content))
	}))
	defer store.Close()
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ENDPOINT_URL", store.URL)
	if status, out, errs := run(t, "s3://data/a.svm"); status != 0 || out != content || errs != "" {
		t.Errorf("status %d, %d bytes, %q", status, len(out), errs)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"s3://data/b.svm"}, 3, "s3://data/b.svm: there is no such object"},
		{[]string{"s3://data"}, 2, "not the name of an object"},
		{[]string{"s4://data/a"}, 2, "addresses begin with s3://, nats:// or kafka://"},
		{[]string{"s3://data/a", "--idle", "1s"}, 2, "--idle: an object of S3 has no messages"},
		{[]string{"s3://data/a", "s3://data/b"}, 2, "one source at a time"},
	} {
		if status, out, errs := run(t, c.args...); status != c.status || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, %q, output %q", c.args, status, errs, out)
		}
	}
}

// Each run goes on where the last one has ended.
func TestMessages(t *testing.T) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	conn, err := client.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "A"}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"1 1:1", "0 1:2", "1 1:3"} {
		if _, err := js.Publish(t.Context(), "A", []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	address, file := s.ClientURL()+"/A", filepath.Join(t.TempDir(), "a.position")
	for i, c := range []struct{ flag, value, want string }{
		{"--limit", "2", "1 1:1\n0 1:2\n"},
		{"--limit", "1", "1 1:3\n"},
		{"--idle", "50ms", ""},
	} {
		status, out, errs := run(t, address, "--position", file, c.flag, c.value)
		if status != 0 || out != c.want || errs != "" {
			t.Errorf("run %d: status %d, %q, %q", i+1, status, out, errs)
		}
	}
	b, err := os.ReadFile(file)
	if want := `{"format":"noregret-position-1","source":"` + address + `","next":4}` + "\n"; err != nil ||
		string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	for content, want := range map[string]string{
		string(b[:len(b)-3]):                                  "no position",
		strings.Replace(string(b), "/A", "/B", 1):             "the position is one in",
		strings.Replace(string(b), "4}", "0}", 1):             "no position",
		strings.Replace(string(b), "position-1", "x", 1):      `the format is "noregret-x"`,
		strings.Replace(string(b), `"next":4`, `"n":4`, 1):    "no position",
		strings.Replace(string(b), `"next":4`, `"next":9`, 1): "the stream ends with message 3",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		status, out, errs := run(t, address, "--position", file)
		if status != 3 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %q, %q", content, status, out, errs)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	status := command.Run(ctx, newRoot, []string{"parquet", sample}, strings.NewReader(""), &stdout, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}
