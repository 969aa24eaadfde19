package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server"
)

// loadChild is what a process of the load tests does: it serves until it is killed. The service is
// that of noregret serve, on the disk.
func loadChild(kind string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	dir, ok := strings.CutPrefix(kind, "service ")
	if !ok {
		return http.Serve(l, bareHandler(kind == "bytes"))
	}
	config := server.DefaultConfig(dir)
	config.Logger = quiet
	s, err := server.New(config)
	if err != nil {
		return err
	}
	return s.Serve(context.Background(), l, nil, time.Minute)
}

// bareHandler reads the same JSON as the service and answers JSON of the same form and length, by
// encoding/json. With appends it appends the bytes of the answer itself, which is the least that a
// handler can do.
func bareHandler(appends bool) http.Handler {
	token := strings.Repeat("x", 80)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Units []string `json:"units"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(400)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if appends {
			b := []byte(`{"decisions":[`)
			for i, u := range in.Units {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(b, `{"unit":"`...)
				b = append(b, u...)
				b = append(b, `","arm":"control","value":{"w":0},"propensity":0.4,"version":1,"token":"`...)
				b = append(b, token...)
				b = append(b, `"}`...)
			}
			_, _ = w.Write(append(b, "]}\n"...))
			return
		}
		var out struct {
			Decisions []api.Decision `json:"decisions"`
		}
		for _, u := range in.Units {
			out.Decisions = append(out.Decisions,
				api.Decision{
					Unit: u, Arm: "control", Value: json.RawMessage(`{"w":0}`), Propensity: .4, Version: 1, Token: token,
				})
		}
		_ = json.NewEncoder(w).Encode(out)
	})
}

// process is this test's binary as a service or as a bare handler.
type process struct {
	address string
	cmd     *exec.Cmd
}

// start begins a process: a service with an empty directory, or a bare handler. The service is
// that of the program in NOREGRET_LOAD_COMMAND, if it is set.
func start(b *testing.B, kind string) *process {
	b.Helper()
	p := &process{}
	if command := os.Getenv("NOREGRET_LOAD_COMMAND"); kind == "service" && command != "" {
		p.cmd = exec.Command(command, "serve", "--data", b.TempDir(), "--listen", "127.0.0.1:0")
		_, p.address, _ = strings.Cut(startProcess(b, p.cmd), "http://")
		return p
	}
	if kind == "service" {
		kind += " " + b.TempDir()
	}
	p.cmd, p.address = startSelf(b, "NOREGRET_LOAD_CHILD="+kind)
	return p
}

// stop kills the process and waits for its end. A second call does nothing.
func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// apply creates an experiment in a service.
func (p *process) apply(b *testing.B, name, text string) *client.Client {
	b.Helper()
	o := client.DefaultOptions("http://" + p.address)
	o.HTTP = &http.Client{Timeout: time.Minute}
	c, err := client.New(o)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Apply(context.Background(), name, []byte(text)); err != nil {
		b.Fatal(err)
	}
	return c
}

// metric returns the value of a metric of a service.
func (p *process) metric(b *testing.B, name string) float64 {
	b.Helper()
	resp, err := http.Get("http://" + p.address + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				b.Fatal(err)
			}
			return v
		}
	}
	b.Fatalf("the service has no metric %s", name)
	return 0
}

// processor returns the time that the process has used the processors, from Linux's /proc in
// hundredths of a second; elsewhere it is 0.
func (p *process) processor() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, rest, ok := bytes.Cut(text, []byte(") ")) // after the program's name
	fields := strings.Fields(string(rest))
	if err != nil || !ok || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// always is a connection that is open already.
func always(send func(i int) error) connect {
	return func() (func(i int) error, func()) { return send, func() {} }
}

// plain is a client that leaves most of the machine to the service, as wrk does: it writes each
// request at once, to a connection that it keeps, and skips the body of the answer.
func plain(p *process, path string, body func(b []byte, i int) []byte) connect {
	return func() (func(i int) error, func()) {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			return func(int) error { return err }, func() {}
		}
		c := &caller{in: bufio.NewReader(conn), out: conn, head: "POST " + path + " HTTP/1.1\r\nHost: " + p.address +
			"\r\nContent-Type: application/json\r\nContent-Length: "}
		return func(i int) error { return c.post(body(c.body[:0], i)) }, func() { _ = conn.Close() }
	}
}

// newcomer is a client that opens a connection for each request.
func newcomer(p *process, path string, body func(b []byte, i int) []byte) connect {
	open := plain(p, path, body)
	return always(func(i int) error {
		send, end := open()
		defer end()
		return send(i)
	})
}

// standard is the client of net/http.
func standard(p *process, path string, body func(b []byte, i int) []byte) connect {
	return func() (func(i int) error, func()) {
		tr := &http.Transport{}
		h := &http.Client{Transport: tr}
		return func(i int) error {
			resp, err := h.Post("http://"+p.address+path, "application/json", bytes.NewReader(body(nil, i)))
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				return err
			}
			if resp.StatusCode != 200 {
				return fmt.Errorf("status %d", resp.StatusCode)
			}
			return nil
		}, tr.CloseIdleConnections
	}
}

// caller writes requests with the same head.
type caller struct {
	in   *bufio.Reader
	out  io.Writer
	head string
	body []byte // reused
	text []byte // reused
}

// post sends a request and reads its answer, which must have status 200.
func (c *caller) post(body []byte) error {
	c.body = body
	c.text = strconv.AppendInt(append(c.text[:0], c.head...), int64(len(body)), 10)
	c.text = append(append(c.text, "\r\n\r\n"...), body...)
	if _, err := c.out.Write(c.text); err != nil {
		return err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("the answer is %q", line)
	}
	length := -1 // in chunks
	for len(line) > 2 {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return err
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				return err
			}
		}
	}
	if length >= 0 {
		_, err = c.in.Discard(length)
		return err
	}
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return errors.New("the answer has no length")
		}
		if _, err := c.in.Discard(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
}
