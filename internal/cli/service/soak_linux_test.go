package service

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// stepped is the name under which this binary is the command with a clock that a test can step:
// it is ahead of the machine's by the nanoseconds in the file that the variable soakClock names.
const (
	stepped   = "noregret-stepped"
	soakClock = "NOREGRET_TEST_CLOCK"
)

func init() { programs[stepped] = func() { os.Exit(steppedStatus()) } }

func steppedStatus() int {
	ahead, err := sharedNumber(os.Getenv(soakClock))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	begin := time.Now()
	return command.Main(clitest.Commands(func(a *command.App) []*cobra.Command {
		return commandsWith(a, func(c *server.Config) {
			c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			c.Elapsed = func() time.Duration { return time.Since(begin) }
		})
	}))
}

// sharedNumber maps a file of 8 bytes into memory.
func sharedNumber(path string) (*atomic.Int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*atomic.Int64)(unsafe.Pointer(&b[0])), nil
}

// soak is a service under load, and what is done to it.
type soak struct {
	soaker
	t       *testing.T
	dir     string // on a disk of its own if mounted
	mounted bool
	data    string
	address string
	clock   *atomic.Int64
	env     []string
	program string
	// transport has the connections of the load.
	transport *http.Transport
	probe     http.Client

	cmd      *exec.Cmd
	lives    int
	failures int64 // of the log, in earlier lives
	reopens  int64
	steps    int64
	unsaved  int64 // snapshots that did not fit on the disk
	outages  map[string]int
	memory   []float64 // MiB of the process, after each round of faults
}

// TestSoak runs the service for SOAK_MINUTES (make soak), or some 15 s, while clients decide,
// expose and report feedback, some of it repeated, late or out of range. The disk is full, or has
// no room for a snapshot, files cannot grow, there are no descriptors, the clock makes steps, the
// process is killed, and it is restored from a backup. In the end the books balance: what was
// acknowledged was counted once, and nothing else was.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 20 s")
	}
	t.Parallel()
	minutes, err := strconv.ParseFloat("0"+os.Getenv("SOAK_MINUTES"), 64)
	if err != nil {
		t.Fatal(err)
	}
	s := newSoak(t)
	s.start()
	for name, text := range map[string]string{"soak": soakDefinition, "brief": briefDefinition} {
		if _, err := s.client.Apply(t.Context(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for i := range 6 {
		workers.Go(func() { s.drive(ctx, i) })
	}
	defer workers.Wait()
	defer stop()
	begin := time.Now()
	rounds := 0
	for ; rounds == 0 || time.Since(begin).Minutes() < minutes; rounds++ {
		s.round()
	}
	s.kill() // the last life has no faults: nothing may leak
	s.start()
	quiet := s.metric("go_goroutines")
	s.load(3000)
	stop()
	workers.Wait()
	s.balance(t)
	s.drained(quiet)
	t.Logf("%v, %d rounds of faults, %d lives, outages %v, %d failures of the log, of which %d ended in the process, "+
		"%d steps of the clock, %d snapshots that did not fit; MiB of memory after the faults: %.0f; the disk was %s",
		time.Since(begin).Round(time.Second), rounds, s.lives, s.outages, s.failures, s.reopens, s.steps, s.unsaved,
		s.memory, s.disk())
	s.bounded()
	s.stop()
}

// newSoak prepares the directories, on a small disk of their own if that can be mounted.
func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, dir: t.TempDir(), outages: map[string]int{}, address: "127.0.0.1:0"}
	clock := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(clock, binary.NativeEndian.AppendUint64(nil, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.clock, err = sharedNumber(clock); err != nil {
		t.Fatal(err)
	}
	if unix.Mount("none", s.dir, "tmpfs", 0, "size=2g") == nil {
		s.mounted = true
		// Detached, as files of a process that has just ended may still be closing.
		t.Cleanup(func() {
			if err := unix.Unmount(s.dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.program = filepath.Join(t.TempDir(), stepped)
	if err := os.Symlink(self, s.program); err != nil {
		t.Fatal(err)
	}
	s.data, s.env = filepath.Join(s.dir, "data"), append(os.Environ(), soakClock+"="+clock, "GORACE=atexit_sleep_ms=10")
	s.probe = http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	s.pace = rate.NewLimiter(100, 10)
	t.Cleanup(func() {
		if s.cmd != nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	return s
}

func (s *soak) disk() string {
	if s.mounted {
		return "a tmpfs of 2 GiB, filled"
	}
	return "not filled, as none could be mounted"
}

// start starts the service and waits until it accepts requests.
func (s *soak) start() {
	s.t.Helper()
	cmd := exec.Command(s.program, "serve", "--data", s.data, "--listen", s.address, "--log-level", "error",
		"--snapshot-every", "300", "--retain", "30s")
	cmd.Env = s.env
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.cmd = cmd
	s.lives++
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on http://")
	if err != nil || !ok {
		_ = cmd.Wait()
		s.t.Fatalf("the service printed %q: %v: %s", line, err, &log)
	}
	if s.client != nil {
		return
	}
	s.address, s.transport = address, &http.Transport{MaxIdleConnsPerHost: 16}
	o := client.DefaultOptions("http://" + address)
	o.Attempts, o.HTTP = 1, &http.Client{Timeout: 15 * time.Second, Transport: s.transport}
	s.client, err = client.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
}

// kill kills the service, after noting its counters.
func (s *soak) kill() {
	s.t.Helper()
	s.note()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait()
	s.cmd = nil
}

// stop ends the service, and checks its log.
func (s *soak) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	err := s.cmd.Wait()
	s.cmd = nil
	if err != nil {
		s.t.Fatal(err)
	}
	if out := cmds.Printed(s.t, "log", "verify", "--data", s.data); !strings.Contains(out, "the log is sound") {
		s.t.Error(out)
	}
	if out := cmds.Printed(s.t, "log", "replay", "--data", s.data, "--json"); !strings.Contains(out, `"different": 0`) {
		s.t.Error(out)
	}
}

// await waits until f is true.
func (s *soak) await(what string, f func() bool) {
	s.t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-end:
			s.t.Fatalf("a minute has passed without %s", what)
		}
	}
}

// status returns the status of a path, 0 without an answer. It keeps its connection, so that it
// needs no new descriptor of the service.
func (s *soak) status(path string) int {
	resp, err := s.probe.Get("http://" + s.address + path)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

func (s *soak) writes() bool { return s.status("/readyz/writes") == 200 }

// metric returns a metric of the service without labels.
func (s *soak) metric(name string) float64 {
	s.t.Helper()
	h := http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var text []byte
	s.await("metrics", func() bool {
		resp, err := h.Get("http://" + s.address + "/metrics")
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		text, err = io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == 200
	})
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return v
		}
	}
	s.t.Fatalf("no metric %s", name)
	return 0
}

// note adds up the counters of a life that ends.
func (s *soak) note() {
	s.failures += int64(s.metric("noregret_log_failures_total"))
	s.reopens += int64(s.metric("noregret_log_reopens_total"))
	s.steps += int64(s.metric("noregret_clock_steps_total"))
}

// load waits until the feedback of further units is accepted.
func (s *soak) load(units int64) {
	s.t.Helper()
	want := s.units() + units
	s.await("progress", func() bool { return s.units() >= want })
}

// round does everything once to the service.
func (s *soak) round() {
	begin := time.Now()
	var spent []string
	for _, phase := range []struct {
		name string
		do   func()
	}{
		{"load", func() { s.load(500) }},
		{"ahead", func() { s.step(2 * time.Hour) }},
		{"disk", s.fullDisk},
		{"snapshot", s.nearlyFull},
		{"behind", func() { s.step(-2 * time.Hour) }},
		{"kill", s.restart},
		{"size", s.fileSize},
		{"descriptors", s.noDescriptors},
		{"kill", s.restart},
		{"restore", s.restore},
	} {
		phase.do()
		spent = append(spent, fmt.Sprintf("%s %.1f s", phase.name, time.Since(begin).Seconds()))
		begin = time.Now()
	}
	s.t.Log(strings.Join(spent, ", "))
	s.memory = append(s.memory, s.metric("process_resident_memory_bytes")/(1<<20))
}

// restart kills the service under load and starts it again.
func (s *soak) restart() {
	s.kill()
	s.start()
	s.load(500)
}

// drained checks that the service has ended the goroutines of requests.
func (s *soak) drained(quiet float64) {
	s.t.Helper()
	var now float64
	s.transport.CloseIdleConnections()
	s.probe.CloseIdleConnections()
	s.await(fmt.Sprintf("an end of goroutines, %v at the beginning", quiet), func() bool {
		now = s.metric("go_goroutines")
		return now <= quiet+5
	})
}

// bounded checks that memory does not grow with time.
func (s *soak) bounded() {
	s.t.Helper()
	third := max(1, len(s.memory)/3)
	early, late := 0.0, 0.0
	for i, m := range s.memory {
		if i < third {
			early = max(early, m)
		}
		late = max(late, m)
	}
	if late > 2*early+64 {
		s.t.Errorf("memory grew from %.0f to %.0f MiB: %.0f", early, late, s.memory)
	}
}
