package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rig runs a command, which may be of an earlier commit, with a data directory of its own.
type rig struct {
	t       *testing.T
	command string
	help    string // of serve
	full    bool
	data    string
	lives   int
	// limits are those of the shell that starts the service, such as "ulimit -n 256".
	limits string
	// address is where the service listens; "" is any port.
	address string
}

// run runs the command until it ends, for a minute at most, and returns what it printed.
func (r *rig) run(args ...string) (output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := exec.CommandContext(ctx, r.command, args...).CombinedOutput()
	return string(b), err
}

// has says whether serve has a flag.
func (r *rig) has(flag string) bool { return strings.Contains(r.help, flag+" ") }

// optional returns the flag and its value if serve has it.
func (r *rig) optional(flag, value string) []string {
	if !r.has(flag) {
		return nil
	}
	return []string{flag, value}
}

// living is a service that runs.
type living struct {
	*rig
	cmd   *exec.Cmd
	url   string
	log   string // the file of its standard error
	token string
	http  *http.Client
	began time.Time
}

// serve starts the service and waits until it prints its address.
func (r *rig) serve(args ...string) *living {
	r.t.Helper()
	l, message := r.try(args...)
	if l == nil {
		r.t.Fatalf("the service does not start: %s", message)
	}
	return l
}

// try starts the service. If it does not print its address within three minutes, l is nil and
// message has what it said.
func (r *rig) try(args ...string) (l *living, message string) {
	r.t.Helper()
	r.lives++
	l = &living{rig: r, log: filepath.Join(r.t.TempDir(), "log"+strconv.Itoa(r.lives)), began: time.Now()}
	args = append([]string{"-c", r.limits + `
exec "$0" "$@"`, r.command, "serve", "--data", r.data, "--listen", cmp.Or(r.address, "127.0.0.1:0")}, args...)
	l.cmd = exec.Command("sh", args...)
	log, err := os.Create(l.log)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	l.cmd.Stderr = log
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(l.kill)
	late := time.AfterFunc(3*time.Minute, func() { _ = l.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		l.kill()
		return nil, l.logged()
	}
	l.url = url
	l.http = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return l, ""
}

// logged returns what the service has logged.
func (l *living) logged() string {
	b, err := os.ReadFile(l.log)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

// kill ends the service by SIGKILL.
func (l *living) kill() {
	if l.cmd == nil {
		return
	}
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
	l.cmd = nil
}

// stop ends the service by SIGTERM.
func (l *living) stop() {
	l.t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		l.t.Fatal(err)
	}
	if err := l.cmd.Wait(); err != nil {
		l.t.Fatalf("%v: %s", err, l.logged())
	}
	l.cmd = nil
}

// answer is an answer of the service, with status 0 if there was none.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request. Headers are pairs of a name and a value.
func (l *living) do(method, path, body string, headers ...string) answer {
	l.t.Helper()
	q, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if l.token != "" {
		q.Header.Set("Authorization", "Bearer "+l.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	resp, err := l.http.Do(q)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	return answer{resp.StatusCode, resp.Header, b}
}

// must sends a request, requires success and reads the answer into out.
func (l *living) must(method, path, body string, out any) {
	l.t.Helper()
	a := l.do(method, path, body)
	if a.status/100 != 2 {
		l.t.Fatalf("%s %s: status %d: %.300s", method, path, a.status, a.body)
	}
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			l.t.Fatalf("%s %s: %v: %.300s", method, path, err, a.body)
		}
	}
}

// toyOf is the definition of an experiment with further lines.
func toyOf(more string) string {
	return `name: toy
arms: [{name: a, value: 0}, {name: b, value: 1}]
metrics: [{name: x}]
policy: {kind: fixed, split: {a: 0.5, b: 0.5}}
` + more
}

// apply creates or changes the experiment toy.
func (l *living) apply(text string) {
	l.t.Helper()
	if a := l.do("PUT", "/v1/experiments/toy", text, "Content-Type", "application/yaml"); a.status/100 != 2 {
		l.t.Fatalf("status %d: %s", a.status, a.body)
	}
}

// unitsBody is the body of a request for decisions of n units.
func unitsBody(prefix string, n int) string {
	var b bytes.Buffer
	b.WriteString(`{"units":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s%d"`, prefix, i)
	}
	b.WriteString("]}")
	return b.String()
}

// decide returns the tokens of decisions for n units of toy.
func (l *living) decide(prefix string, n int) (tokens []string) {
	l.t.Helper()
	var out struct {
		Decisions []struct{ Token string }
	}
	l.must("POST", "/v1/experiments/toy/decide", unitsBody(prefix, n), &out)
	for _, d := range out.Decisions {
		tokens = append(tokens, d.Token)
	}
	return tokens
}

// itemsBody is the body of feedback x = 1 for decisions.
func itemsBody(tokens ...string) string {
	var b bytes.Buffer
	b.WriteString(`{"items":[`)
	for i, t := range tokens {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"token":%q,"metrics":{"x":1}}`, t)
	}
	b.WriteString("]}")
	return b.String()
}

// counts are the numbers of items by result.
type counts struct{ Accepted, Duplicate, Late, Rejected int }

// report is what reproducers read of a report.
type report struct {
	Feedback counts
	Health   struct {
		Exposures counts
		Problems  []string
	}
}

func (l *living) report() (out report) {
	l.t.Helper()
	l.must("GET", "/v1/experiments/toy/report", "", &out)
	return out
}

// until asks f ten times a second until it is true, and returns the seconds that this took, or -1
// after the given number of seconds.
func until(seconds int, f func() bool) float64 {
	begin, tick := time.Now(), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for !f() {
		if <-tick.C; time.Since(begin) > time.Duration(seconds)*time.Second {
			return -1
		}
	}
	return time.Since(begin).Seconds()
}

// soon writes the result of until.
func soon(seconds float64, limit int) string {
	if seconds < 0 {
		return fmt.Sprintf("not within %d s", limit)
	}
	if seconds < 1 {
		return "within 1 s"
	}
	return fmt.Sprintf("after %.0f s", seconds)
}

// memory returns the MiB of memory that the service has, and the most that it had.
func (l *living) memory() (now, peak float64) {
	l.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "VmRSS:" && f[0] != "VmHWM:" {
			continue
		}
		kib, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			l.t.Fatal(err)
		}
		if f[0] == "VmRSS:" {
			now = kib / 1024
		} else {
			peak = kib / 1024
		}
	}
	return now, peak
}

// limit gives the process a limit and returns the function that takes it back.
func (l *living) limit(resource int, value uint64) (undo func()) {
	l.t.Helper()
	var old unix.Rlimit
	pid := l.cmd.Process.Pid
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		l.t.Fatal(err)
	}
	if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: old.Max}, nil); err != nil {
		l.t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, resource, &old, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			l.t.Error(err)
		}
	}
}

// freeDescriptor returns the lowest number of a descriptor that the service does not use.
func (l *living) freeDescriptor() uint64 {
	l.t.Helper()
	for n := uint64(0); ; n++ {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", l.cmd.Process.Pid, n)); err != nil {
			return n
		}
	}
}
