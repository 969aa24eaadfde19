package main

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// topic starts a broker with messages of a topic, each in the partition of its number modulo 3.
func topic(t *testing.T, messages []string, send []kgo.Opt, opts ...kfake.Opt) (address string) {
	t.Helper()
	cluster, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.SeedTopics(3, "clicks"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(append(send, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DisableClientMetrics(),
		kgo.DefaultProduceTopic("clicks"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i, m := range messages {
		r := &kgo.Record{Partition: int32(i % 3), Value: []byte(m), Timestamp: time.UnixMilli(int64(1000 + i))}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return "kafka://" + cluster.ListenAddrs()[0] + "/clicks"
}

// Each run goes on where the last one has ended.
func TestTopic(t *testing.T) {
	address := topic(t, []string{"1 1:1", "0 1:2", "1 1:3", "0 1:4"}, nil)
	file := filepath.Join(t.TempDir(), "a.position")
	for i, c := range []struct{ flag, value, want string }{
		{"--limit", "2", "1 1:1\n0 1:2\n"},
		{"--limit", "1", "1 1:3\n"},
		{"--idle", "50ms", "0 1:4\n"},
		{"--idle", "50ms", ""},
	} {
		status, out, errs := run(t, address, "--position", file, c.flag, c.value)
		if status != 0 || out != c.want || errs != "" {
			t.Errorf("run %d: status %d, %q, %q", i+1, status, out, errs)
		}
	}
	b, err := os.ReadFile(file)
	if want := `{"format":"noregret-position-1","source":"` + address + `","offsets":[2,1,1]}` + "\n"; err != nil ||
		string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	for content, want := range map[string]string{
		strings.Replace(string(b), "/clicks", "/b", 1):             "the position is one in",
		strings.Replace(string(b), "[2,1,1]", "[]", 1):             `"offsets" has the number`,
		strings.Replace(string(b), `"offsets":[2,1,1]`, "", 1):     "no position",
		strings.Replace(string(b), `"offsets"`, `"next":1,"o"`, 1): "no position",
		strings.Replace(string(b), `[2,1,1]`, `[3,1,1]`, 1):        "partition 0 ends before message 2",
		strings.Replace(string(b), `[2,1,1]`, `[2,1,1,0]`, 1):      "the position is one in 4",
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

func TestSecureBroker(t *testing.T) {
	t.Setenv("NOREGRET_KAFKA_USER", "ann")
	t.Setenv("NOREGRET_KAFKA_PASSWORD", "secret")
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	dir := t.TempDir()
	ca, bad := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "bad.pem")
	pemBytes := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, pemBytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	send := &tls.Config{InsecureSkipVerify: true} // the client of this test only
	user := kgo.SASL(plain.Auth{User: "ann", Pass: "secret"}.AsMechanism())
	address := topic(t, []string{"1 1:1"}, []kgo.Opt{kgo.DialTLSConfig(send), user}, kfake.TLS(web.TLS),
		kfake.EnableSASL(), kfake.Superuser("PLAIN", "ann", "secret"))
	status, out, errs := run(t, address, "--tls", "--tls-ca", ca, "--sasl", "plain", "--limit", "1")
	if status != 0 || out != "1 1:1\n" || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--tls --sasl plain", 1, "certificate"},
		{"--sasl plain", 2, "plain without TLS"},
		{"--sasl gssapi", 2, "want plain or scram-sha-256 or scram-sha-512"},
		{"--tls-ca " + ca, 2, "TLS is not asked for"},
		{"--tls --tls-ca " + bad, 3, "has no certificate"},
		{"--tls --tls-cert " + ca, 2, "both --tls-cert and --tls-key"},
		{"--tls --tls-cert " + ca + " --tls-key " + ca, 3, "--tls-cert"},
	} {
		status, out, errs := run(t, append([]string{address}, strings.Fields(c.args)...)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.want) || strings.Contains(errs, "secret") {
			t.Errorf("%s: status %d, %q, output %q", c.args, status, errs, out)
		}
	}
	t.Setenv("NOREGRET_KAFKA_PASSWORD", "")
	status, _, errs = run(t, address, "--tls", "--sasl", "plain")
	if status != 2 || !strings.Contains(errs, "_PASSWORD") {
		t.Errorf("no password: status %d, %q", status, errs)
	}
	if status, _, errs := run(t, "s3://a/b", "--tls"); status != 2 || !strings.Contains(errs, "only a topic of Kafka") {
		t.Errorf("another source: status %d, %q", status, errs)
	}
}

// The command of the page writes all messages in the order of their times, and then none again.
func TestRecipe(t *testing.T) {
	b, err := os.ReadFile("../../../docs/how-to/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(b), "\n## Kafka\n")
	_, recipe, _ := strings.Cut(page, "\n    noregret-input ")
	recipe, _, _ = strings.Cut(recipe, " > new.svm")

	var messages []string
	for i := range 600 {
		messages = append(messages, fmt.Sprintf("%d 1:%d 2:%d", i%7/6*2-1, i%7, i%5))
	}
	address := topic(t, messages, nil)
	t.Chdir(t.TempDir())
	args := strings.Fields(strings.NewReplacer("kafka://127.0.0.1:9092/clicks", address, "5s", "50ms").Replace(recipe))
	for i, want := range []string{strings.Join(messages, "\n") + "\n", ""} {
		if status, out, errs := run(t, args...); status != 0 || out != want || errs != "" {
			t.Errorf("run %d of %q: status %d, %d bytes, %q", i+1, args, status, len(out), errs)
		}
	}
}
