package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noregret/noregret/client"
)

// running holds the services of scripts, by working directory.
var running struct {
	sync.Mutex
	by map[string]*exec.Cmd
}

// service runs noregret serve on a free port: "service start ARGS..." waits until it accepts
// requests and sets NOREGRET_SERVER; "service score ARGS..." does so for noregret score. "service
// stop" sends SIGTERM and requires the exit status 0;
// "service kill" sends SIGKILL; "service hup" sends SIGHUP and waits for the log message about the
// access tokens. Its standard error is appended to the file service.log.
func service(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: service start ARGS... | score ARGS... | stop | kill | hup")
	}
	dir := ts.MkAbs(".")
	running.Lock()
	if running.by == nil {
		running.by = map[string]*exec.Cmd{}
	}
	cmd := running.by[dir]
	running.Unlock()
	switch args[0] {
	case "start":
		startService(ts, dir, "serve", args[1:])
		return
	case "score":
		startService(ts, dir, "score", args[1:])
		return
	}
	if cmd == nil {
		ts.Fatalf("no service is running")
	}
	if args[0] == "hup" {
		hangUp(ts, cmd)
		return
	}
	sig := syscall.SIGTERM
	if args[0] == "kill" {
		sig = syscall.SIGKILL
	}
	ts.Check(cmd.Process.Signal(sig))
	err := cmd.Wait()
	running.Lock()
	delete(running.by, dir)
	running.Unlock()
	if args[0] == "stop" {
		ts.Check(err)
	}
}

// hangUp sends SIGHUP and reads the log until the service has checked the access tokens.
func hangUp(ts *testscript.TestScript, cmd *exec.Cmd) {
	log, err := os.Open(ts.MkAbs("service.log"))
	ts.Check(err)
	defer func() { _ = log.Close() }()
	_, err = log.Seek(0, io.SeekEnd)
	ts.Check(err)
	ts.Check(cmd.Process.Signal(syscall.SIGHUP))
	var text strings.Builder
	for !strings.Contains(text.String(), "new access tokens") {
		b := make([]byte, 4096)
		n, err := log.Read(b)
		if err != nil && err != io.EOF {
			ts.Fatalf("%v", err)
		}
		text.Write(b[:n])
		runtime.Gosched()
	}
}

func startService(ts *testscript.TestScript, dir, name string, args []string) {
	bin := ""
	for _, d := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(d, "noregret")); err == nil {
			bin = filepath.Join(d, "noregret")
			break
		}
	}
	cmd := exec.Command(bin, append([]string{name, "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	log, err := os.OpenFile(ts.MkAbs("service.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	running.Lock()
	running.by[dir] = cmd
	running.Unlock()
	ts.Defer(func() {
		running.Lock()
		defer running.Unlock()
		if running.by[dir] == cmd {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			delete(running.by, dir)
		}
	})
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		ts.Fatalf("the service did not start: %s", ts.ReadFile("service.log"))
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		ts.Fatalf("the service printed %q", line)
	}
	ts.Setenv("NOREGRET_SERVER", url)
}

// decide asks the service that is running for a decision, and sets TOKEN to its token: "decide
// EXPERIMENT UNIT".
func decide(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: decide EXPERIMENT UNIT")
	}
	c, err := client.New(client.DefaultOptions(ts.Getenv("NOREGRET_SERVER")))
	ts.Check(err)
	d, err := c.Decide(context.Background(), args[0], args[1])
	ts.Check(err)
	ts.Setenv("TOKEN", d[0].Token)
}

// call makes a request of the service that is running and prints the answer, which must be without
// error, or with one after "!": "call METHOD PATH [FILE [MEDIA-TYPE]]".
func call(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 4 {
		ts.Fatalf("usage: call METHOD PATH [FILE [MEDIA-TYPE]]")
	}
	body := ""
	if len(args) > 2 {
		body = ts.ReadFile(args[2])
	}
	req, err := http.NewRequestWithContext(context.Background(), args[0], ts.Getenv("NOREGRET_SERVER")+args[1],
		strings.NewReader(body))
	ts.Check(err)
	if len(args) > 3 {
		req.Header.Set("Content-Type", args[3])
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if failed := resp.StatusCode >= 400; failed != neg {
		ts.Fatalf("the status is %s", resp.Status)
	}
}
