package docs

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	_ "unsafe" // for the election timeouts

	"github.com/nats-io/nats-server/v2/server"
)

// The servers of the pages elect a leader in a fraction of the usual 4 to 9 seconds.
//
//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var minElectionTimeout, maxElectionTimeout, hbInterval time.Duration

// serverVariable tells a process of this test that it is a NATS server.
const serverVariable = "NOREGRET_DOCS_NATS"

// natsServer is the program nats-server, of which it knows -c FILE only.
func natsServer() int {
	minElectionTimeout, maxElectionTimeout, hbInterval = 500*time.Millisecond, time.Second, 100*time.Millisecond
	o, err := server.ProcessConfigFile(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o.NoSigs = true
	s, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.ConfigureLogger()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	s.Start()
	<-ended
	s.Shutdown()
	s.WaitForShutdown()
	return 0
}

// cluster prepares a page with servers and nodes of its own: the program nats-server, free ports in
// the place of those of the page, and an end of what the page has begun, by the files *.pid.
func (w *walk) cluster(page string) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	bin := w.t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", serverVariable, self)
	if err := os.WriteFile(filepath.Join(bin, "nats-server"), []byte(script), 0o700); err != nil {
		w.t.Fatal(err)
	}
	for i, v := range w.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			w.env[i] = "PATH=" + bin + string(filepath.ListSeparator) + path
		}
	}
	seen := map[string]bool{w.shown: true}
	// Below the ports of outgoing connections, which would take that of a server that is down.
	port := 10_000 + os.Getpid()*37%9_000
	for _, address := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(page, -1) {
		for ; !seen[address]; port++ {
			free := fmt.Sprint("127.0.0.1:", port)
			if l, err := net.Listen("tcp", free); err == nil && l.Close() == nil {
				w.others = append(w.others, address, free)
				seen[address] = true
			}
		}
	}
	w.t.Cleanup(w.kill)
}

// kill ends what a page that failed has begun.
func (w *walk) kill() {
	files, err := filepath.Glob(filepath.Join(w.dir, "*.pid"))
	if err != nil {
		w.t.Error(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			w.t.Error(err)
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && w.t.Failed() {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended
			}
		}
	}
}
